#include "cli/values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <sstream>
#include <string_view>

#include "base/suggest.h"
#include "cli/offers.h"
#include "scenarios/number.h"
#include "scenarios/yaml_tree.h"

namespace hybridkv {

namespace {

struct TypedUnit {
  std::string_view suffix;
  double value;
};

/// A number above 0 with the first of the units that the text ends with.
double amount_of(const char* flag, const std::string& text, std::initializer_list<TypedUnit> units,
                 const char* problem) {
  for (const auto& [suffix, value] : units) {
    if (!text.ends_with(suffix)) continue;
    const ParsedReal number = parse_real(text.substr(0, text.size() - suffix.size()));
    if (number.problem.empty() && number.value > 0) return number.value * value;
    break;
  }
  throw InputError(fmt::format("{} {}: {}", flag, text, problem));
}

}  // namespace

CLI::Validator token_count() {
  return CLI::Validator(
      [](std::string& text) {
        const ParsedNumber number = parse_tokens(text);
        if (!number.problem.empty()) return fmt::format("{} {}", in_quotes(text), number.problem);
        text = std::to_string(number.value);
        return std::string();
      },
      "", "tokens");
}

CLI::Validator whole_number(std::int64_t minimum, std::int64_t maximum) {
  return CLI::Validator(
      [minimum, maximum](std::string& text) {
        const ParsedNumber number = parse_integer(text);
        const std::string allowed = maximum == std::numeric_limits<std::int64_t>::max()
                                        ? fmt::format("from {}", minimum)
                                        : fmt::format("from {} to {}", minimum, maximum);
        if (!number.problem.empty())
          return fmt::format("{} {}; allowed: whole numbers {}", in_quotes(text), number.problem, allowed);
        if (number.value < minimum || number.value > maximum)
          return fmt::format("{} is out of bounds; allowed: whole numbers {}", number.value, allowed);
        return std::string();
      },
      "", "whole number");
}

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string name = offers_name({words});
  return CLI::Validator(
      [words = std::move(words)](std::string& text) {
        if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
        return fmt::format("{} is not allowed; take one of {}{}", in_quotes(text), fmt::join(words, ", "),
                           did_you_mean(text, words));
      },
      "", name);
}

CLI::Validator any_text() {
  return CLI::Validator([](std::string&) { return std::string(); }, "", "text");
}

std::vector<std::string> split_list(const std::string& flag, const std::string& text) {
  std::vector<std::string> values;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    values.push_back(text.substr(begin, end - begin));
    if (values.back().empty())
      throw CLI::ValidationError(flag, text.empty() ? std::string("the list is empty")
                                                    : fmt::format("value {} of the list {} is empty", values.size(),
                                                                  in_quotes(text)));
    begin = end + 1;
  }
  return values;
}

double duration_of(const char* flag, const std::string& text) {
  return amount_of(flag, text, {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"", 1}},
                   "is no time; write it like 40ms or 1.5s");
}

double link_speed_of(const char* flag, const std::string& text) {
  return amount_of(flag, text, {{"TB/s", 1e12}, {"GB/s", 1e9}, {"MB/s", 1e6}, {"Tb/s", 1e12 / 8}, {"Gb/s", 1e9 / 8}},
                   "is no speed of a link; write it like 50GB/s or 400Gb/s");
}

}  // namespace hybridkv
