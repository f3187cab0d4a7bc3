#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/line_reader.h"

namespace hybridkv {

/// A table of comma-separated values whose first line names the columns: RFC 4180, where no value has a line break.
class CsvReader {
 public:
  /// `name` is what messages call the input. Throws InputError where it has no first line.
  CsvReader(LineReader lines, std::string name);

  /// The next row; false at the end. Empty lines do not count. Throws InputError for one of another width.
  bool next();

  bool has(std::string_view column) const;
  /// The value in the row at hand. Throws InputError where there is no such column.
  const std::string& text(std::string_view column) const;
  /// The same as a number; `otherwise` for an empty value. Throws InputError for what is no number.
  double number(std::string_view column, double otherwise = 0) const;
  /// The same of a whole number.
  std::int64_t whole(std::string_view column, std::int64_t otherwise = 0) const;

  /// Throws InputError with the place of the row and the column.
  [[noreturn]] void refuse(std::string_view column, const std::string& problem) const;

 private:
  void split(std::string_view line);

  LineReader lines_;
  std::string name_;
  std::vector<std::string> columns_;
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<std::string> values_;
};

/// Of the file at a path, - for standard input. Throws InputError where it cannot be read.
CsvReader open_csv(const std::string& path);

}  // namespace hybridkv
