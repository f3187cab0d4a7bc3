#include "planner/derivation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "base/digit.h"

namespace hybridkv {

namespace {

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The formula at the start of a text: up to a colon, or a comma, bracket or condition that follows it outside of all
/// brackets ("num_blocks - 1: block 0 …", "num_blocks / ids (as engines print it)").
std::string_view formula_of(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool remark =
        i >= 2 && text[i] == '(' && text[i - 1] == ' ' && (is_name_character(text[i - 2]) || text[i - 2] == ')');
    if (depth == 0 && (text[i] == ':' || text[i] == ',' || text[i] == ';' || remark)) return text.substr(0, i);
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
  }
  return text;
}

/// Digits as a calculator takes them; nothing for a word.
std::optional<std::string> plain_number(const Term& term) {
  if (const auto* count = std::get_if<std::int64_t>(&term.value)) return std::to_string(*count);
  if (const auto* real = std::get_if<double>(&term.value)) return fmt::format("{}", *real);
  return std::nullopt;
}

/// The input whose symbol stands at the start of `text` as a word of its own, the longest of several.
const Term* input_at(std::string_view text, const std::vector<Term>& inputs) {
  const Term* longest = nullptr;
  for (const Term& input : inputs) {
    const std::string& symbol = input.symbol;
    const bool here = !symbol.empty() && text.substr(0, symbol.size()) == symbol &&
                      (text.size() == symbol.size() || !is_name_character(text[symbol.size()]));
    if (here && (longest == nullptr || symbol.size() > longest->symbol.size())) longest = &input;
  }
  return longest;
}

}  // namespace

std::optional<std::string> substituted_rule(const Decision& decision) {
  static constexpr std::array<std::string_view, 6> functions{"ceil", "floor", "max", "min", "lcm", "int"};
  const std::string_view rule = decision.rule;
  const std::size_t sign = rule.find(" = ");
  const std::string_view formula = formula_of(sign == std::string_view::npos ? rule : rule.substr(sign + 3));
  std::string text;
  bool replaced = false;
  for (std::size_t i = 0; i < formula.size();) {
    if (!is_name_character(formula[i])) {
      text += formula[i++];
      continue;
    }
    std::size_t length = 0;
    if (const Term* input = input_at(formula.substr(i), decision.inputs)) {
      const auto number = plain_number(*input);
      if (!number) return std::nullopt;
      text += *number;
      length = input->symbol.size();
      replaced = true;
    } else {
      while (i + length < formula.size() && is_name_character(formula[i + length])) ++length;
      const std::string_view word = formula.substr(i, length);
      const bool known = std::find(functions.begin(), functions.end(), word) != functions.end() ||
                         std::all_of(word.begin(), word.end(), is_digit);
      if (!known) return std::nullopt;
      text += word;
    }
    i += length;
  }
  if (!replaced) return std::nullopt;
  const std::string_view symbol = sign == std::string_view::npos ? std::string_view(decision.result.symbol)
                                                                  : rule.substr(0, sign);
  return fmt::format("{} = {}", symbol, text);
}

}  // namespace hybridkv
