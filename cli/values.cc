#include "cli/values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "base/suggest.h"
#include "cli/offers.h"
#include "scenarios/number.h"
#include "scenarios/yaml_tree.h"

namespace hybridkv {

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
  std::string_view number = text;
  double unit = 1;
  for (const auto& [suffix, seconds] : {std::pair<std::string_view, double>{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}})
    if (number.ends_with(suffix)) {
      number.remove_suffix(suffix.size());
      unit = seconds;
      break;
    }
  const ParsedReal value = parse_real(std::string(number));
  if (!value.problem.empty() || !(value.value > 0))
    throw InputError(fmt::format("{} {}: is no time; write it like 40ms or 1.5s", flag, text));
  return value.value * unit;
}

}  // namespace hybridkv
