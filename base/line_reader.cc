#include "base/line_reader.h"

#include <fmt/format.h>

#include <cstring>

#include "base/bytes_text.h"
#include "base/error.h"

namespace hybridkv {

void LineReader::require_line(std::size_t bytes) const {
  if (bytes <= most_line_bytes_) return;
  throw InputError(fmt::format("{}:{}: the line has more than {}; is this a trace?", source_->name(), line_number_ + 1,
                               bytes_text(static_cast<std::int64_t>(most_line_bytes_))));
}

bool LineReader::refill() {
  if (at_end_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ + padding == buffer_.size()) buffer_.resize(2 * buffer_.size());
  const std::size_t count = source_->read(buffer_.data() + end_, buffer_.size() - padding - end_);
  end_ += count;
  at_end_ = count == 0;
  return !at_end_;
}

std::optional<std::string_view> LineReader::next() {
  std::size_t searched = 0;
  for (;;) {
    const char* from = buffer_.data() + begin_;
    const void* stop = std::memchr(from + searched, '\n', end_ - begin_ - searched);
    if (stop != nullptr) {
      const auto length = static_cast<std::size_t>(static_cast<const char*>(stop) - from);
      require_line(length);
      begin_ += length + 1;
      ++line_number_;
      return std::string_view(from, length);
    }
    searched = end_ - begin_;
    require_line(searched);
    if (refill()) continue;
    if (searched == 0) return std::nullopt;
    const std::string_view last(buffer_.data() + begin_, searched);
    begin_ = end_;
    ++line_number_;
    return last;
  }
}

}  // namespace hybridkv
