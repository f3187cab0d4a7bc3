#include "scenarios/number.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/digit.h"
#include "base/read_real.h"
#include "scenarios/yaml_tree.h"

namespace hybridkv {

namespace {

constexpr std::int64_t longest_range = 10'000;

constexpr const char* unit_pattern = "([bB]|[kKmMgGtTpP]([iI]?[bB]|[iI])?)";
constexpr const char* token_unit_pattern = "[kKmM]";


char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Bytes of a unit of memory; 0 where the text is none.
std::int64_t bytes_of_unit(std::string_view text) {
  std::string unit;
  for (const char c : text) unit += lower(c);
  if (unit == "b") return 1;
  constexpr std::string_view prefixes = "kmgtp";
  const std::size_t power = unit.empty() ? std::string_view::npos : prefixes.find(unit.front());
  if (power == std::string_view::npos) return 0;
  const std::string rest = unit.substr(1);
  if (rest.empty() || rest == "i" || rest == "ib") return std::int64_t{1024} << 10 * power;
  std::int64_t bytes = 1000;
  for (std::size_t i = 0; i < power; ++i) bytes *= 1000;
  return rest == "b" ? bytes : 0;
}

/// Tokens of a unit; 0 where the text is none.
std::int64_t tokens_of_unit(std::string_view text) {
  if (text.size() != 1) return 0;
  return lower(text.front()) == 'k' ? 1'024 : lower(text.front()) == 'm' ? 1'048'576 : 0;
}

/// What to write instead of a number with separators; empty for any other text.
std::string separator_advice(std::string_view text) {
  const std::string digits = without_separators(text);
  return digits.empty() ? digits : "; write it without separators: " + digits;
}

/// Takes the digits at the front of the text off it.
std::string_view take_digits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

std::string_view take_blanks(std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of(' '), text.size());
  const std::string_view blanks = text.substr(0, count);
  text.remove_prefix(count);
  return blanks;
}

/// floor(0.digits * unit), exact: rounding down after each digit loses nothing, since the digit before it adds
/// a whole number of bytes. Pre: unit < 2^59.
std::int64_t fraction_of(std::string_view digits, std::int64_t unit) {
  std::int64_t bytes = 0;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) bytes = ((*digit - '0') * unit + bytes) / 10;
  return bytes;
}

/// The three parts of a range; empty `first` where the text is no range.
struct RangeText {
  std::string_view first, last, step;
};

/// Takes the whole number at the front of the text off it, with its unit where there may be one.
std::string_view take_whole(std::string_view& text, NumberForm form) {
  const std::string_view before = text;
  std::size_t size = take_digits(text).size();
  if (size > 0 && form == NumberForm::tokens && !text.empty() && tokens_of_unit(text.substr(0, 1)) > 0) {
    text.remove_prefix(1);
    ++size;
  }
  return before.substr(0, size);
}

RangeText split_range(std::string_view text, NumberForm form) {
  RangeText range;
  const std::string_view first = take_whole(text, form);
  if (first.empty() || !text.starts_with("..")) return {};
  text.remove_prefix(2);
  range.last = take_whole(text, form);
  if (range.last.empty()) return {};
  if (!text.empty()) {
    constexpr std::string_view keyword = " step ";
    if (!text.starts_with(keyword)) return {};
    text.remove_prefix(keyword.size());
    range.step = take_whole(text, form);
    if (range.step.empty() || !text.empty()) return {};
  }
  range.first = first;
  return range;
}

}  // namespace

std::string without_separators(std::string_view text) {
  std::string digits;
  char separator = 0;
  std::size_t group = 0;  // digits since the last separator
  for (const char c : text) {
    if (is_digit(c)) {
      digits += c;
      ++group;
    } else {
      const bool fits = separator == 0 ? group >= 1 && group <= 3 : group == 3 && c == separator;
      if (!fits || std::string_view(",_' ").find(c) == std::string_view::npos) return {};
      separator = c;
      group = 0;
    }
  }
  return separator != 0 && group == 3 ? digits : std::string();
}

ParsedNumber parse_integer(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  std::string_view rest = digits;
  const bool has_digits = !take_digits(rest).empty();
  if (!has_digits || !rest.empty() || (digits.size() > 1 && digits.front() == '0')) {
    const bool is_float = has_digits && (rest.find_first_of("eE") != std::string_view::npos);
    if (is_float) return {0, "is a floating-point number"};
    return {0, "is not a whole number" + separator_advice(text)};
  }
  ParsedNumber number;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number.value);
  if (parsed.ec == std::errc::result_out_of_range)
    number.problem = fmt::format("does not fit 64 bits (largest: {})", std::numeric_limits<std::int64_t>::max());
  return number;
}

ParsedNumber parse_tokens(std::string_view text) {
  std::string_view rest = text;
  const std::string_view whole = take_digits(rest);
  std::string_view fraction;
  if (!whole.empty() && rest.size() > 1 && rest.front() == '.' && is_digit(rest[1])) {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
  }
  take_blanks(rest);
  const std::int64_t unit = tokens_of_unit(rest);
  if (whole.empty() || unit == 0) {
    ParsedNumber number = parse_integer(text);
    if (!number.problem.empty() && !number.problem.starts_with("does") && separator_advice(text).empty())
      number.problem += " of tokens, like 32768 or 32k";
    return number;
  }
  while (fraction.ends_with('0')) fraction.remove_suffix(1);
  // unit = 2^10 or 2^20: no more digits than that can give a whole number.
  std::int64_t tenths = 1;
  for (std::size_t i = 0; i < fraction.size() && fraction.size() <= 10; ++i) tenths *= 10;
  std::int64_t digits = 0;
  std::from_chars(fraction.data(), fraction.data() + fraction.size(), digits);
  if (fraction.size() > 10 || digits * unit % tenths != 0) return {0, "is no whole number of tokens"};
  ParsedNumber number;
  const auto parsed = std::from_chars(whole.data(), whole.data() + whole.size(), number.value);
  if (parsed.ec == std::errc::result_out_of_range || __builtin_mul_overflow(number.value, unit, &number.value) ||
      __builtin_add_overflow(number.value, digits * unit / tenths, &number.value))
    return {0, fmt::format("does not fit 64 bits (largest: {})", std::numeric_limits<std::int64_t>::max())};
  return number;
}

ParsedNumber parse_whole(std::string_view text, NumberForm form) {
  return form == NumberForm::tokens ? parse_tokens(text) : parse_integer(text);
}

std::string tokens_pattern() { return fmt::format("^[0-9]+(\\.[0-9]+)? *{}$", token_unit_pattern); }

ParsedReal parse_real(std::string_view text) {
  ParsedReal number;
  const char* const end = text.data() + text.size();
  const auto parsed = read_real(text, number.value);
  if (parsed.ec == std::errc::result_out_of_range) return {0, "is too large or too small for a number of 64 bits"};
  // It may also read the words inf and nan.
  if (parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(number.value)) return {0, "is not a number"};
  if (number.value < 0) return {0, "is too small"};
  return number;
}

ParsedNumber parse_size(std::string_view text) {
  std::string_view rest = text;
  const std::string_view whole = take_digits(rest);
  std::string_view fraction;
  const bool has_point = rest.starts_with('.');
  if (has_point) {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
  }
  const bool has_blanks = !take_blanks(rest).empty();
  const bool has_unit = !rest.empty();
  const std::int64_t unit = has_unit ? bytes_of_unit(rest) : 1;
  if (whole.empty() || (has_point && fraction.empty()) || (!has_unit && (has_point || has_blanks)) || unit == 0) {
    const std::string advice = separator_advice(text);
    return {0, "is no amount of memory" +
                   (advice.empty() ? "; write bytes, or a number and a unit: 40GiB or 40G (powers of 1024), "
                                     "40GB (powers of 1000)"
                                   : advice)};
  }
  ParsedNumber size;
  const auto parsed = std::from_chars(whole.data(), whole.data() + whole.size(), size.value);
  if (parsed.ec == std::errc::result_out_of_range || __builtin_mul_overflow(size.value, unit, &size.value) ||
      __builtin_add_overflow(size.value, fraction_of(fraction, unit), &size.value))
    return {0, fmt::format("does not fit 64 bits (largest: {} bytes)", std::numeric_limits<std::int64_t>::max())};
  return size;
}

std::string size_pattern() { return fmt::format("^[0-9]+(\\.[0-9]+)? *{}$", unit_pattern); }

bool is_range(std::string_view text, NumberForm form) { return !split_range(text, form).first.empty(); }

ParsedRange parse_range(std::string_view text, NumberForm form) {
  const RangeText range = split_range(text, form);
  const ParsedNumber first = parse_whole(range.first, form);
  const ParsedNumber last = parse_whole(range.last, form);
  // Without a step a range goes on one by one, of thousands by thousands.
  const bool in_units = !range.first.empty() && !is_digit(range.first.back());
  const std::int64_t one = in_units ? tokens_of_unit(range.first.substr(range.first.size() - 1)) : 1;
  const ParsedNumber step = range.step.empty() ? ParsedNumber{one, ""} : parse_whole(range.step, form);
  for (const ParsedNumber& number : {first, last, step})
    if (!number.problem.empty()) return {{}, "holds a number that " + number.problem};
  if (step.value == 0) return {{}, "has the step 0"};
  if (last.value < first.value) return {{}, "runs backwards; write the smaller number first"};
  if ((last.value - first.value) / step.value >= longest_range)
    return {{}, fmt::format("has more than {} values", longest_range)};
  ParsedRange parsed;
  const std::int64_t steps = (last.value - first.value) / step.value;
  for (std::int64_t i = 0; i <= steps; ++i) parsed.values.push_back(first.value + i * step.value);
  return parsed;
}

std::string range_pattern(NumberForm form) {
  const std::string number = form == NumberForm::plain ? "[0-9]+" : fmt::format("[0-9]+{}?", token_unit_pattern);
  return fmt::format("^{0}\\.\\.{0}( step {0})?$", number);
}

bool is_size_range(std::string_view text) {
  return !text.empty() && is_digit(text.front()) && text.find("..") != std::string_view::npos;
}

ParsedSizeRange parse_size_range(std::string_view text) {
  constexpr std::string_view keyword = " step ";
  const std::size_t dots = text.find("..");
  const std::string_view first_text = text.substr(0, dots);
  const std::string_view rest = text.substr(dots + 2);
  const std::size_t step_at = rest.find(keyword);
  const std::string unit(first_text.substr(std::min(first_text.find_first_not_of("0123456789. "), first_text.size())));
  const std::string one_unit = unit.empty() ? "1" : "1 " + unit;
  const std::string step_text(step_at == std::string_view::npos ? one_unit : rest.substr(step_at + keyword.size()));
  const ParsedNumber first = parse_size(first_text);
  const ParsedNumber last = parse_size(rest.substr(0, step_at));
  const ParsedNumber step = parse_size(step_text);
  for (const ParsedNumber& size : {first, last, step})
    if (!size.problem.empty()) return {{}, "holds what " + size.problem};
  if (step.value == 0) return {{}, "has the step 0"};
  if (last.value < first.value) return {{}, "runs backwards; write the smaller size first"};
  const std::int64_t steps = (last.value - first.value) / step.value;
  if (steps >= longest_range) return {{}, fmt::format("has more than {} values", longest_range)};
  const std::int64_t unit_bytes = parse_size(one_unit).value;
  ParsedSizeRange parsed;
  for (std::int64_t i = 0; i <= steps; ++i) {
    const std::int64_t bytes = first.value + i * step.value;
    const bool exact = !unit.empty() && bytes % unit_bytes == 0;
    parsed.values.push_back(exact ? fmt::format("{} {}", bytes / unit_bytes, unit) : fmt::format("{}", bytes));
  }
  return parsed;
}

std::string size_range_pattern() {
  const std::string size = fmt::format("[0-9]+(\\.[0-9]+)?( *{})?", unit_pattern);
  return "^" + size + "\\.\\." + size + "( step " + size + ")?$";
}

}  // namespace hybridkv
