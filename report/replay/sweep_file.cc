#include "report/replay/sweep_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/file_error.h"
#include "base/output_file.h"
#include "report/replay/row_reader.h"

namespace hybridkv {

namespace {

/// The rows of one file, one at a time.
class ShardReader {
 public:
  explicit ShardReader(const std::string& path) : reader_(path) {
    next_line();
    if (at_end_) return;
    const auto format = format_of_first_line(line_);
    if (!format) fail("is no row of a sweep; merge takes files that `hybridkv sweep` wrote");
    format_ = *format;
    if (format_ == SweepFormat::csv) {
      heading_ = line_;
      next_line();
    }
    read_start();
  }

  const std::string& path() const { return reader_.name(); }
  std::optional<SweepFormat> format() const { return format_; }
  const std::string& heading() const { return heading_; }
  bool at_end() const { return at_end_; }
  /// Pre: not at_end().
  const RowStart& start() const { return start_; }
  /// With its line feed. Pre: not at_end().
  std::string_view line() const { return line_; }

  void next() {
    const std::int64_t before = start_.point;
    next_line();
    read_start();
    if (!at_end_ && start_.point <= before)
      fail(fmt::format("point {} after point {}; rows stand in their order", start_.point, before));
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw InputError(fmt::format("{}:{}: {}", path(), reader_.line_number(), message));
  }

 private:
  void next_line() {
    const auto line = reader_.next();
    at_end_ = !line;
    line_ = line.value_or(std::string_view());
    if (at_end_ && !reader_.torn_line().empty())
      fail("the last line is torn: the sweep that wrote it was killed; let it end with --resume first");
  }

  void read_start() {
    if (at_end_) return;
    const auto start = parse_row_start(line_, *format_);
    if (!start) fail("is no row of a sweep");
    start_ = *start;
  }

  RowReader reader_;
  std::optional<SweepFormat> format_;  // nothing: the file is empty
  std::string heading_;
  std::string_view line_;
  RowStart start_;
  bool at_end_ = false;
};

/// Readers of all files, which belong together.
std::vector<std::unique_ptr<ShardReader>> open_shards(const std::vector<std::string>& paths) {
  std::vector<std::unique_ptr<ShardReader>> shards;
  const ShardReader* first = nullptr;  // that has a row
  for (const std::string& path : paths) {
    shards.push_back(std::make_unique<ShardReader>(path));
    const ShardReader& shard = *shards.back();
    if (shard.at_end()) continue;
    if (first == nullptr) first = &shard;
    if (shard.start().sweep_id != first->start().sweep_id || shard.format() != first->format() ||
        shard.start().num_points != first->start().num_points || shard.heading() != first->heading())
      throw InputError(fmt::format("{} is of another sweep than {} ({} of {} points, {} of {} points): scenario, "
                                   "overrides, trace, options or program differ",
                                   shard.path(), first->path(), shard.start().sweep_id, shard.start().num_points,
                                   first->start().sweep_id, first->start().num_points));
  }
  if (first == nullptr) throw InputError(fmt::format("{}: no file holds a row", paths.front()));
  return shards;
}

}  // namespace

Shard parse_shard(const std::string& text) {
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto index = std::from_chars(text.data(), end, shard.first);
  if (index.ec == std::errc() && index.ptr != end && *index.ptr == '/') {
    const auto count = std::from_chars(index.ptr + 1, end, shard.count);
    if (count.ec == std::errc() && count.ptr == end && shard.first >= 1 && shard.first <= shard.count) {
      --shard.first;
      return shard;
    }
  }
  throw InputError(fmt::format("--shard {}: write I/N with I from 1 to N, like 2/8", text));
}

RowFile::RowFile(std::string path) : path_(std::move(path)) {
  const std::string shown = "-o " + path_;
  struct stat info {};
  const bool is_link = ::lstat(path_.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
  const bool existed = ::stat(path_.c_str(), &info) == 0;
  if (existed) refuse_unwritable_kind(shown, info.st_mode);
  is_regular_ = !existed || S_ISREG(info.st_mode);
  file_ = ::open(path_.c_str(), (is_regular_ ? O_RDWR | O_CREAT : O_WRONLY) | O_CLOEXEC | O_NOCTTY, 0666);
  if (file_ < 0) throw_file_error(shown, "cannot be written", errno);
  is_new_ = !existed && !is_link;
  // Some file systems of clusters know no locks; there nothing keeps two sweeps apart.
  if (!is_regular_ || ::flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(file_);
  throw InputError(fmt::format("{}: another sweep is writing it", shown));
}

RowFile::~RowFile() {
  // What failed before its first byte leaves no file behind that was not there.
  if (is_new_ && !is_kept_ && is_empty()) ::unlink(path_.c_str());
  ::close(file_);
}

bool RowFile::is_empty() const {
  struct stat info {};
  return ::fstat(file_, &info) != 0 || info.st_size == 0;
}

std::string RowFile::read_lines(const std::function<void(std::string_view line)>& take) const {
  if (!is_regular_) throw InputError(fmt::format("-o {}: is no regular file; --resume continues files", path_));
  RowReader reader(file_, "-o " + path_);
  while (const auto line = reader.next()) take(*line);
  return std::string(reader.torn_line());
}

void RowFile::continue_at(std::int64_t bytes, std::string torn_line) {
  torn_line_ = std::move(torn_line);
  if (is_regular_ && ::lseek(file_, bytes, SEEK_SET) < 0)
    throw_file_error("-o " + path_, "cannot be continued", errno);
}

void RowFile::append(std::string_view text) {
  if (text.empty()) return;
  if (!text.starts_with(torn_line_))
    throw InputError(fmt::format("-o {}: after its whole rows stand {} bytes that this sweep did not write; nothing is "
                                 "changed. --resume continues only what the same command began", path_,
                                 torn_line_.size()));
  torn_line_.clear();
  write_all(file_, text, "-o " + path_);
}

void RowFile::finish() {
  if (!torn_line_.empty())
    throw InputError(fmt::format("-o {}: after its last row stand {} bytes that this sweep did not write; nothing is "
                                 "changed", path_, torn_line_.size()));
  is_kept_ = true;
}

FinishedRows finished_rows(const RowFile& file, const std::string& path, const SweepRows& rows, const Shard& shard) {
  FinishedRows finished;
  std::int64_t line_number = 0;
  const std::string heading = rows.heading();
  finished.torn_line = file.read_lines([&](std::string_view line) {
    ++line_number;
    const auto fail = [&](const std::string& message) {
      throw InputError(fmt::format("{}:{}: {}; --resume continues only what the same command began", path, line_number,
                                   message));
    };
    if (line_number == 1 && !heading.empty()) {
      if (line != heading) fail("is not the heading of this sweep");
    } else {
      const auto start = parse_row_start(line, rows.spec().format);
      if (!start) fail("is no row of a sweep");
      if (start->sweep_id != rows.sweep_id())
        fail(fmt::format("is a row of sweep {}, this one is {}: scenario, overrides, trace, options or program differ",
                         start->sweep_id, rows.sweep_id()));
      const std::int64_t expected = shard.point(finished.rows);
      if (start->point != expected)
        fail(fmt::format("holds point {} where point {} of this shard belongs", start->point, expected));
      finished.counts.add(start->status);
      ++finished.rows;
    }
    finished.bytes += static_cast<std::int64_t>(line.size());
  });
  return finished;
}

PointCounts merge_rows(const std::vector<std::string>& paths, const std::function<void(std::string_view text)>& take) {
  const std::vector<std::unique_ptr<ShardReader>> shards = open_shards(paths);
  const auto some = std::find_if(shards.begin(), shards.end(), [](const auto& shard) { return !shard->at_end(); });
  const std::int64_t num_points = (*some)->start().num_points;
  const std::string sweep_id = (*some)->start().sweep_id;
  PointCounts counts;
  std::string text = (*some)->heading();
  std::size_t turn = 0;  // shards take turns, so that the next one is mostly the right one
  for (std::int64_t point = 0; point < num_points; ++point) {
    ShardReader* holder = nullptr;
    for (std::size_t i = 0; i < shards.size() && holder == nullptr; ++i) {
      ShardReader& shard = *shards[(turn + i) % shards.size()];
      if (shard.at_end() || shard.start().point > point) continue;
      if (shard.start().point < point)
        shard.fail(fmt::format("holds point {}, which another file holds too", shard.start().point));
      holder = &shard;
      turn = (turn + i + 1) % shards.size();
    }
    if (holder == nullptr)
      throw InputError(
          fmt::format("point {} of 0 to {} is in none of the {} files: a shard is missing, or has not come to "
                      "its end (continue it with --resume)",
                      point, num_points - 1, shards.size()));
    if (holder->start().sweep_id != sweep_id || holder->start().num_points != num_points)
      holder->fail("is a row of another sweep");
    counts.add(holder->start().status);
    text += holder->line();
    if (text.size() > (std::size_t{1} << 20)) {
      take(text);
      text.clear();
    }
    holder->next();
  }
  for (const auto& shard : shards)
    if (!shard->at_end())
      shard->fail(fmt::format("holds point {}, which another file holds too", shard->start().point));
  take(text);
  return counts;
}

}  // namespace hybridkv
