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

/// How whole numbers of a kind are written.
enum class NumberForm {
  plain,   ///< decimal digits
  tokens,  ///< decimal digits, perhaps with a unit: 32k, 1.5k, 1M
};

/// A whole number in decimal digits, perhaps with a minus.
ParsedNumber parse_integer(std::string_view text);

/// A number of tokens: "32768", "32k", "1.5K", "1 M". k is 1,024 and M 1,048,576, in either case of the letter, as
/// context lengths are written; a fraction must give a whole number.
ParsedNumber parse_tokens(std::string_view text);

/// parse_integer or parse_tokens.
ParsedNumber parse_whole(std::string_view text, NumberForm form);

/// The form of a number of tokens with a unit as a regular expression (ECMA), for the JSON Schema.
std::string tokens_pattern();

/// The digits of a whole number with separators between its thousands: "42,949,672,960", "32_768", "32'768", "32 768";
/// empty for any other text.
std::string without_separators(std::string_view text);

/// A number >= 0 that was read, or why the text is none.
struct ParsedReal {
  double value = 0;
  std::string problem;  ///< "is not a number", …; empty when all is well
};

/// A finite number >= 0: "3", "0.25", "5e-5".
ParsedReal parse_real(std::string_view text);

/// An amount of memory in bytes: "42949672960", "40 GiB", "12.85gib", "40G", "16 GB". KiB to PiB are powers of 1024,
/// and so are Ki to Pi and K to P, as flags of serving engines mean them; kB to PB are powers of 1000. Upper and lower
/// case are alike; a fraction of a byte is dropped.
ParsedNumber parse_size(std::string_view text);

/// The form of a size as a regular expression (ECMA), for the JSON Schema.
std::string size_pattern();

/// True for the text of a range, "1..16" or "16..128 step 16"; of tokens also "16k..128k step 16k".
bool is_range(std::string_view text, NumberForm form = NumberForm::plain);

/// The numbers of a range, both ends included, or why there are none.
struct ParsedRange {
  std::vector<std::int64_t> values;
  std::string problem;
};

/// Reads a range of at most 10,000 numbers. Pre: is_range(text, form).
ParsedRange parse_range(std::string_view text, NumberForm form = NumberForm::plain);

/// The form of a range as a regular expression (ECMA), for the JSON Schema.
std::string range_pattern(NumberForm form = NumberForm::plain);

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
