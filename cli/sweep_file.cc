#include "cli/sweep_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>

#include "layout/error.h"

namespace hybridkv {

namespace {

/// The rows of one file, one at a time.
class ShardReader {
 public:
  explicit ShardReader(std::string path) : path_(std::move(path)), file_(path_, std::ios::binary) {
    if (!file_) throw InputError(fmt::format("{}: cannot be read: {}", path_, std::strerror(errno)));
    next_line();
    if (at_end_) return;
    const auto format = format_of_first_line(line_);
    if (!format) throw InputError(path_ + ":1: is no row of a sweep; merge takes files that `hybridkv sweep` wrote");
    format_ = *format;
    if (format_ == SweepFormat::csv) {
      heading_ = line_ + "\n";
      next_line();
    }
    read_start();
  }

  const std::string& path() const { return path_; }
  std::optional<SweepFormat> format() const { return format_; }
  const std::string& heading() const { return heading_; }
  bool at_end() const { return at_end_; }
  /// Pre: not at_end().
  const RowStart& start() const { return start_; }
  const std::string& line() const { return line_; }

  void next() {
    const std::int64_t before = start_.point;
    next_line();
    read_start();
    if (!at_end_ && start_.point <= before)
      throw InputError(fmt::format("{}:{}: point {} after point {}; rows stand in their order", path_, line_number_,
                                   start_.point, before));
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw InputError(fmt::format("{}:{}: {}", path_, line_number_, message));
  }

 private:
  void next_line() {
    ++line_number_;
    at_end_ = !std::getline(file_, line_);
    if (file_.bad()) fail("cannot be read");
    if (!at_end_ && file_.eof())
      fail("the last line is torn: the sweep that wrote it was killed; let it end with --resume first");
  }

  void read_start() {
    if (at_end_) return;
    const auto start = parse_row_start(line_, *format_);
    if (!start) fail("is no row of a sweep");
    start_ = *start;
  }

  std::string path_;
  std::ifstream file_;
  std::optional<SweepFormat> format_;  // nothing: the file is empty
  std::string heading_;
  std::string line_;
  std::int64_t line_number_ = 0;
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
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) throw InputError(fmt::format("-o {}: cannot be written: {}", path_, std::strerror(errno)));
  // Some file systems of clusters know no locks; there nothing keeps two sweeps apart.
  if (::flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(file_);
  throw InputError(fmt::format("-o {}: another sweep is writing it", path_));
}

RowFile::~RowFile() { ::close(file_); }

bool RowFile::is_empty() const {
  struct stat info {};
  return ::fstat(file_, &info) != 0 || info.st_size == 0;
}

void RowFile::read_lines(const std::function<void(std::string_view line)>& take) const {
  std::string text;
  std::string piece(std::size_t{1} << 20, '\0');
  ::off_t offset = 0;
  for (;;) {
    const ::ssize_t count = ::pread(file_, piece.data(), piece.size(), offset);
    if (count < 0) throw InputError(fmt::format("-o {}: cannot be read: {}", path_, std::strerror(errno)));
    if (count == 0) return;
    offset += count;
    text.append(piece, 0, static_cast<std::size_t>(count));
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
      take(std::string_view(text).substr(begin, end + 1 - begin));
    text.erase(0, begin);
  }
}

void RowFile::continue_at(std::int64_t bytes) {
  struct stat info {};
  const bool is_longer = ::fstat(file_, &info) == 0 && info.st_size > bytes;
  if ((is_longer && ::ftruncate(file_, bytes) != 0) || (bytes > 0 && ::lseek(file_, bytes, SEEK_SET) < 0))
    throw ResourceError(fmt::format("-o {}: cannot be continued: {}", path_, std::strerror(errno)));
}

void RowFile::append(std::string_view text) {
  while (!text.empty()) {
    const ::ssize_t count = ::write(file_, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      throw ResourceError(fmt::format("-o {}: cannot be written: {}; --resume goes on from the last whole row", path_,
                                      std::strerror(errno)));
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

FinishedRows finished_rows(const RowFile& file, const std::string& path, const SweepRows& rows, const Shard& shard) {
  FinishedRows finished;
  std::int64_t line_number = 0;
  const std::string heading = rows.heading();
  file.read_lines([&](std::string_view line) {
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
      throw InputError(fmt::format("point {} of 0 to {} is in none of the {} files: a shard is missing, or has not come to "
                                   "its end (continue it with --resume)", point, num_points - 1, shards.size()));
    if (holder->start().sweep_id != sweep_id || holder->start().num_points != num_points)
      holder->fail("is a row of another sweep");
    counts.add(holder->start().status);
    text += holder->line();
    text += '\n';
    if (text.size() > (std::size_t{1} << 20)) {
      take(text);
      text.clear();
    }
    holder->next();
  }
  for (const auto& shard : shards)
    if (!shard->at_end()) shard->fail(fmt::format("holds point {}, which another file holds too", shard->start().point));
  take(text);
  return counts;
}

}  // namespace hybridkv
