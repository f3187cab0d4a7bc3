#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hybridkv {

/// Reads a file of rows line by line; holds one line at a time, and no line without end.
class RowReader {
 public:
  /// Opens a file, or standard input for "-". Throws InputError where it cannot be read.
  explicit RowReader(const std::string& path);
  /// Reads a file that is open already, from its begin; it stays open.
  RowReader(int descriptor, std::string name);
  ~RowReader();
  RowReader(const RowReader&) = delete;
  RowReader& operator=(const RowReader&) = delete;

  /// The next whole line with its line feed, valid until the next call; nothing at the end. Throws InputError where the
  /// file cannot be read, or a line is longer than any row (64 MiB).
  std::optional<std::string_view> next();
  /// What stands after the last whole line: nothing, or a line that is torn. Pre: next() gave nothing.
  std::string_view torn_line() const { return std::string_view(buffer_).substr(begin_); }
  /// Of the line that `next` gave last, or of the torn one; from 1.
  std::int64_t line_number() const { return line_number_; }
  /// The name as messages show it.
  const std::string& name() const { return name_; }

 private:
  bool refill();

  std::string name_;
  int descriptor_;
  bool is_own_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what is not read yet
  std::int64_t line_number_ = 0;
};

}  // namespace hybridkv
