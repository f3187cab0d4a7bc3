#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "report/replay/sweep_row.h"

namespace hybridkv {

/// Every count-th point of a sweep, from `first` on: shard 2/8 of the command line is first 1, count 8. Neighbours lie
/// in different shards, so that all take about as long.
struct Shard {
  std::int64_t first = 0;
  std::int64_t count = 1;

  std::int64_t num_points(std::int64_t of_sweep) const {
    return of_sweep <= first ? 0 : (of_sweep - first - 1) / count + 1;
  }
  std::int64_t point(std::int64_t index) const { return first + index * count; }
};

/// Reads "2/8". Throws InputError.
Shard parse_shard(const std::string& text);

/// A file that rows are appended to, which no other sweep writes meanwhile. Unlike OutputFile it has its name from
/// the first row on, so that a kill loses nothing that was made. It never gets shorter, and no byte in it is written
/// over by another one: nothing is lost that something else wrote.
class RowFile {
 public:
  /// Opens or makes it; a device or pipe is written to. Throws InputError where that cannot be done, as OutputFile, or
  /// another process is writing it.
  explicit RowFile(std::string path);
  ~RowFile();
  RowFile(const RowFile&) = delete;
  RowFile& operator=(const RowFile&) = delete;

  bool is_empty() const;
  /// Calls `take` with every whole line, line feed included; returns what stands after the last one. Throws InputError
  /// where it is no regular file.
  std::string read_lines(const std::function<void(std::string_view line)>& take) const;
  /// Goes on after its first bytes, behind which a torn line may stand: the next text must begin with it.
  void continue_at(std::int64_t bytes, std::string torn_line);
  /// Throws ResourceError where the disk is full, InputError where the text does not begin with the torn line.
  void append(std::string_view text);
  /// All rows are there. Throws InputError where a torn line is left, which is none of theirs.
  void finish();

 private:
  std::string path_;
  int file_ = -1;
  bool is_regular_ = true;
  bool is_new_ = false;
  bool is_kept_ = false;
  std::string torn_line_;
};

/// What a killed sweep left in its file.
struct FinishedRows {
  std::int64_t rows = 0;
  std::int64_t bytes = 0;  ///< of the heading and the rows
  std::string torn_line;   ///< what follows
  PointCounts counts;
};

/// Reads how far this shard of this sweep had come. Throws InputError where the file holds anything else.
FinishedRows finished_rows(const RowFile& file, const std::string& path, const SweepRows& rows, const Shard& shard);

/// Puts the rows of all shards together in the order of the points, heading first, and hands them on piece by piece.
/// "-" is standard input. Throws InputError where a file cannot be read, is of another sweep than the first, ends in a
/// torn line, holds a point that another one holds, or a point is missing.
PointCounts merge_rows(const std::vector<std::string>& paths, const std::function<void(std::string_view text)>& take);

}  // namespace hybridkv
