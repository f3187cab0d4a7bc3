#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hybridkv {

/// A number that was read, or why the text is none.
struct ParsedNumber {
  std::int64_t value = 0;
  std::string problem;  ///< "is not a whole number", …; empty when all is well
};

/// A whole number in decimal digits, perhaps with a minus.
ParsedNumber parse_integer(std::string_view text);

/// A number >= 0 that was read, or why the text is none.
struct ParsedReal {
  double value = 0;
  std::string problem;  ///< "is not a number", …; empty when all is well
};

/// A finite number >= 0: "3", "0.25", "5e-5".
ParsedReal parse_real(std::string_view text);

/// An amount of memory in bytes: "42949672960", "40 GiB", "12.85GiB", "16 GB". KiB, MiB, GiB, TiB and PiB are
/// powers of 1024, kB, MB, GB, TB and PB powers of 1000; a fraction of a byte is dropped.
ParsedNumber parse_size(std::string_view text);

/// The form of a size as a regular expression (ECMA), for the JSON Schema.
std::string size_pattern();

/// True for the text of a range, "1..16" or "16..128 step 16".
bool is_range(std::string_view text);

/// The numbers of a range, both ends included, or why there are none.
struct ParsedRange {
  std::vector<std::int64_t> values;
  std::string problem;
};

/// Reads a range of at most 10,000 numbers. Pre: is_range(text).
ParsedRange parse_range(std::string_view text);

/// The form of a range as a regular expression (ECMA), for the JSON Schema.
std::string range_pattern();

/// True for the text of a range of sizes, "16 GiB..80 GiB step 16 GiB".
bool is_size_range(std::string_view text);

/// The sizes of a range, both ends included, as texts that parse_size reads, or why there are none.
struct ParsedSizeRange {
  std::vector<std::string> values;  ///< in the unit of the first size where that is exact, else in bytes
  std::string problem;
};

/// Reads a range of at most 10,000 sizes; without a step it goes on by one unit of the first. Pre: is_size_range(text).
ParsedSizeRange parse_size_range(std::string_view text);

/// The form of a range of sizes as a regular expression (ECMA), for the JSON Schema.
std::string size_range_pattern();

}  // namespace hybridkv
