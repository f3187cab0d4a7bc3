#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"

namespace hybridkv {

/// Splits bytes into lines; holds one buffer of about the longest line, whatever the size of the file.
/// Throws InputError for a line far longer than any request's.
class LineReader {
 public:
  /// Readable bytes behind every line, as the JSON parser wants them.
  static constexpr std::size_t padding = 64;

  explicit LineReader(std::unique_ptr<ByteSource> source, std::size_t buffer_bytes = 1 << 17,
                      std::size_t most_line_bytes = std::size_t{1} << 30)
      : source_(std::move(source)), most_line_bytes_(most_line_bytes), buffer_(buffer_bytes + padding) {}

  /// The next line without its end, valid until the next call; nothing at the end of the file.
  std::optional<std::string_view> next();
  /// Number of the line that `next` gave last, from 1.
  std::int64_t line_number() const { return line_number_; }
  double fraction() const { return source_->fraction(); }

 private:
  bool refill();
  void require_line(std::size_t bytes) const;

  std::unique_ptr<ByteSource> source_;
  std::size_t most_line_bytes_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // unread bytes of the buffer
  bool at_end_ = false;
  std::int64_t line_number_ = 0;
};

}  // namespace hybridkv
