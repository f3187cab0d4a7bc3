#include "report/replay/row_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/file_error.h"

namespace hybridkv {

namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 16;
constexpr std::size_t longest_row_bytes = std::size_t{64} << 20;

}  // namespace

RowReader::RowReader(const std::string& path)
    : name_(path == "-" ? "standard input" : path), descriptor_(STDIN_FILENO), is_own_(path != "-") {
  if (!is_own_) return;
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw_file_error(name_, "cannot be read", errno);
}

RowReader::RowReader(int descriptor, std::string name)
    : name_(std::move(name)), descriptor_(descriptor), is_own_(false) {
  ::lseek(descriptor_, 0, SEEK_SET);
}

RowReader::~RowReader() {
  if (is_own_) ::close(descriptor_);
}

std::optional<std::string_view> RowReader::next() {
  ++line_number_;
  std::size_t searched = begin_;
  for (;;) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      const std::string_view line = std::string_view(buffer_).substr(begin_, end + 1 - begin_);
      begin_ = end + 1;
      return line;
    }
    searched = buffer_.size() - begin_;  // where the search goes on once the buffer has moved
    if (!refill()) return std::nullopt;
  }
}

bool RowReader::refill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t held = buffer_.size();
  if (held > longest_row_bytes)
    throw InputError(fmt::format("{}:{}: a line of more than 64 MiB, which is no row of a sweep", name_, line_number_));
  buffer_.resize(held + piece_bytes);
  ::ssize_t count = 0;
  do count = ::read(descriptor_, buffer_.data() + held, piece_bytes);
  while (count < 0 && errno == EINTR);
  const int code = errno;
  buffer_.resize(held + static_cast<std::size_t>(count < 0 ? 0 : count));
  if (count < 0) throw_file_error(name_, "cannot be read", code);
  return count > 0;
}

}  // namespace hybridkv
