#include "scenarios/number.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "scenarios/yaml_tree.h"

namespace hybridkv {

namespace {

constexpr std::int64_t longest_range = 10'000;

constexpr std::array<std::pair<std::string_view, std::int64_t>, 11> units{{
    {"B", 1},
    {"KiB", std::int64_t{1} << 10},
    {"MiB", std::int64_t{1} << 20},
    {"GiB", std::int64_t{1} << 30},
    {"TiB", std::int64_t{1} << 40},
    {"PiB", std::int64_t{1} << 50},
    {"kB", 1'000},
    {"MB", 1'000'000},
    {"GB", 1'000'000'000},
    {"TB", 1'000'000'000'000},
    {"PB", 1'000'000'000'000'000},
}};

std::string unit_names(const char* between) {
  std::string names;
  for (const auto& unit : units) names += (names.empty() ? "" : between) + std::string(unit.first);
  return names;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

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

RangeText split_range(std::string_view text) {
  RangeText range;
  const std::string_view first = take_digits(text);
  if (first.empty() || !text.starts_with("..")) return {};
  text.remove_prefix(2);
  range.last = take_digits(text);
  if (range.last.empty()) return {};
  if (!text.empty()) {
    constexpr std::string_view keyword = " step ";
    if (!text.starts_with(keyword)) return {};
    text.remove_prefix(keyword.size());
    range.step = take_digits(text);
    if (range.step.empty() || !text.empty()) return {};
  }
  range.first = first;
  return range;
}

}  // namespace

ParsedNumber parse_integer(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  std::string_view rest = digits;
  const bool has_digits = !take_digits(rest).empty();
  if (!has_digits || !rest.empty() || (digits.size() > 1 && digits.front() == '0')) {
    const bool is_float = has_digits && (rest.find_first_of("eE") != std::string_view::npos);
    return {0, is_float ? "is a floating-point number" : "is not a whole number"};
  }
  ParsedNumber number;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number.value);
  if (parsed.ec == std::errc::result_out_of_range)
    number.problem = fmt::format("does not fit 64 bits (largest: {})", std::numeric_limits<std::int64_t>::max());
  return number;
}

ParsedReal parse_real(std::string_view text) {
  ParsedReal number;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number.value);
  if (parsed.ec == std::errc::result_out_of_range) return {0, "is too large or too small for a number of 64 bits"};
  // from_chars also reads the words inf and nan.
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
  std::int64_t unit = has_unit ? 0 : 1;
  for (const auto& [name, bytes] : units)
    if (name == rest) unit = bytes;
  if (whole.empty() || (has_point && fraction.empty()) || (!has_unit && (has_point || has_blanks)) || unit == 0)
    return {0, fmt::format("is no amount of memory; write bytes or a number with a unit, like 40 GiB; units: {}",
                           unit_names(", "))};
  ParsedNumber size;
  const auto parsed = std::from_chars(whole.data(), whole.data() + whole.size(), size.value);
  if (parsed.ec == std::errc::result_out_of_range || __builtin_mul_overflow(size.value, unit, &size.value) ||
      __builtin_add_overflow(size.value, fraction_of(fraction, unit), &size.value))
    return {0, fmt::format("does not fit 64 bits (largest: {} bytes)", std::numeric_limits<std::int64_t>::max())};
  return size;
}

std::string size_pattern() { return "^[0-9]+(\\.[0-9]+)? *(" + unit_names("|") + ")$"; }

bool is_range(std::string_view text) { return !split_range(text).first.empty(); }

ParsedRange parse_range(std::string_view text) {
  const RangeText range = split_range(text);
  const ParsedNumber first = parse_integer(range.first);
  const ParsedNumber last = parse_integer(range.last);
  const ParsedNumber step = range.step.empty() ? ParsedNumber{1, ""} : parse_integer(range.step);
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

std::string range_pattern() { return "^[0-9]+\\.\\.[0-9]+( step [0-9]+)?$"; }

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
  const std::string size = "[0-9]+(\\.[0-9]+)?( *(" + unit_names("|") + "))?";
  return "^" + size + "\\.\\." + size + "( step " + size + ")?$";
}

}  // namespace hybridkv
