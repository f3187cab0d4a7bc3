#include "ask/asked_number.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/digit.h"
#include "base/error.h"
#include "base/suggest.h"
#include "scenarios/number.h"
#include "scenarios/yaml_tree.h"

namespace hybridkv {

namespace {

/// What stands behind a number, and what it makes of it.
struct NumberSuffix {
  std::string_view written;
  double factor;
  std::string_view unit;  ///< empty: none is said
};

constexpr double kibi = 1024, kilo = 1000;
constexpr std::array number_suffixes{
    NumberSuffix{"", 1, ""}, NumberSuffix{"x", 1, ""}, NumberSuffix{"%", 1, "%"}, NumberSuffix{"k", kibi, ""},
    NumberSuffix{"M", kibi * kibi, ""}, NumberSuffix{"B", 1, "bytes"}, NumberSuffix{"KiB", kibi, "bytes"},
    NumberSuffix{"MiB", kibi * kibi, "bytes"}, NumberSuffix{"GiB", kibi * kibi * kibi, "bytes"},
    NumberSuffix{"TiB", kibi * kibi * kibi * kibi, "bytes"}, NumberSuffix{"kB", kilo, "bytes"},
    NumberSuffix{"MB", kilo * kilo, "bytes"}, NumberSuffix{"GB", kilo * kilo * kilo, "bytes"},
    NumberSuffix{"TB", kilo * kilo * kilo * kilo, "bytes"}};

/// The units of derivations that somebody may write out, in both numbers.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> written_units{
    {{"byte", "bytes"}, {"token", "tokens"}, {"block", "blocks"}, {"element", "elements"}}};

/// Separators stand between digits, three behind each.
std::optional<std::string> without_thousands(std::string_view digits) {
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::string_view whole = digits.substr(0, point);
  if (whole.find_first_of(",_") == std::string_view::npos) return std::string(digits);
  const std::string plain = without_separators(whole);
  if (plain.empty()) return std::nullopt;
  return plain + std::string(digits.substr(point));
}

double number_of(const Term& term) {
  if (const auto* count = std::get_if<std::int64_t>(&term.value)) return static_cast<double>(*count);
  const auto* real = std::get_if<double>(&term.value);
  return real ? *real : std::nan("");
}

std::string_view first_word(std::string_view symbol) { return symbol.substr(0, symbol.find(' ')); }

/// The last decision before `end` that came to this input; nothing for what a model or an engine is. A rule may call
/// shorter what the derivation calls in full: its "block" is the "block of spec 1" of the same value.
std::optional<std::size_t> decision_of(const Derivation& derivation, std::size_t end, const Term& input) {
  std::optional<std::size_t> called_alike;
  for (std::size_t i = end; i-- > 0;) {
    const Term& result = derivation[i].result;
    if (result == input) return i;
    const bool is_same = result.value == input.value && result.unit == input.unit;
    if (!called_alike && is_same && first_word(result.symbol) == first_word(input.symbol)) called_alike = i;
  }
  return called_alike;
}

}  // namespace

std::optional<AskedNumber> asked_number(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), [](char c) {
    return is_digit(c) || c == '.' || c == ',' || c == '_';
  });
  const std::size_t length = static_cast<std::size_t>(end - text.begin());
  if (length == 0 || !is_digit(text.front()) || !is_digit(text[length - 1])) return std::nullopt;
  const std::optional<std::string> digits = without_thousands(text.substr(0, length));
  if (!digits) return std::nullopt;
  const ParsedReal parsed = parse_real(*digits);
  if (!parsed.problem.empty()) return std::nullopt;
  std::string_view rest = text.substr(length);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  AskedNumber number{std::string(text), parsed.value, 0, ""};
  const std::size_t point = digits->find('.');
  const auto round_to = [&](double factor, std::string_view unit) {
    const double decimals = point == std::string::npos ? 0 : static_cast<double>(digits->size() - point - 1);
    number.value *= factor;
    number.unit = unit;
    if (factor > 1 || decimals > 0) number.rounded_by = 0.5 * factor * std::pow(10.0, -decimals);
  };
  for (const NumberSuffix& suffix : number_suffixes)
    if (equal_ignoring_case(rest, suffix.written)) {
      round_to(suffix.factor, suffix.unit);
      // A length in k is exact; what was rounded is memory.
      if (suffix.unit.empty() && suffix.factor > 1) number.rounded_by = 0;
      return number;
    }
  for (const auto& [one, many] : written_units)
    if (rest == one || rest == many) {
      round_to(1, many);
      return number;
    }
  return std::nullopt;
}

AskedNumber read_asked_number(std::string_view text) {
  const std::optional<AskedNumber> number = asked_number(text);
  if (number) return *number;
  const std::string problem = "is no number; write it as it was printed: 2096, 1,734,082, 60.6, 3.65 %, 675MiB";
  throw InputError(fmt::format("{} {}", in_quotes(text), problem), "number", problem);
}

bool is_asked(const Term& term, const AskedNumber& number) {
  const double value = number_of(term);
  if (std::isnan(value) || (!number.unit.empty() && term.unit != number.unit)) return false;
  // A number without decimals may stand for a real one that was printed so.
  const bool is_real = std::holds_alternative<double>(term.value);
  const double by = is_real && number.rounded_by == 0 ? 0.5 : number.rounded_by;
  return std::abs(value - number.value) <= by * (1 + 1e-9);
}

NumberSteps steps_to(const Derivation& derivation, const AskedNumber& number) {
  NumberSteps steps;
  std::vector<bool> needed(derivation.size(), false);
  for (std::size_t i = 0; i < derivation.size(); ++i)
    if (is_asked(derivation[i].result, number)) steps.results.push_back(i);
  for (const std::size_t result : steps.results) needed[result] = true;
  for (std::size_t i = derivation.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const Term& input : derivation[i].inputs)
      if (const auto from = decision_of(derivation, i, input)) needed[*from] = true;
  }
  for (std::size_t i = 0; i < derivation.size(); ++i)
    if (needed[i] && !std::binary_search(steps.results.begin(), steps.results.end(), i)) steps.reasons.push_back(i);
  return steps;
}

std::vector<Term> nearest_terms(const std::vector<Term>& results, const AskedNumber& number) {
  constexpr std::size_t most = 3;
  constexpr double near = 0.2;  // of the number; what is farther away was not misread
  const auto distance = [&](const Term& term) { return std::abs(number_of(term) - number.value); };
  std::vector<Term> nearest;
  for (const Term& term : results)
    if (distance(term) <= near * number.value && (number.unit.empty() || term.unit == number.unit))
      nearest.push_back(term);
  std::stable_sort(nearest.begin(), nearest.end(),
                   [&](const Term& a, const Term& b) { return distance(a) < distance(b); });
  const auto same = [](const Term& a, const Term& b) { return number_of(a) == number_of(b); };
  nearest.erase(std::unique(nearest.begin(), nearest.end(), same), nearest.end());
  nearest.resize(std::min(nearest.size(), most));
  return nearest;
}

}  // namespace hybridkv
