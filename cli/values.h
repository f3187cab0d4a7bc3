#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "cli/offers.h"

namespace hybridkv {

/// Checks of what is typed for a flag. Each says what is wrong, what is allowed, and which word may have been meant.

/// A number of tokens, in digits or with a unit: "32768", "32k", "1M". For transform(): the flag gets the digits.
CLI::Validator token_count();

/// A whole number in digits, within bounds.
CLI::Validator whole_number(std::int64_t minimum, std::int64_t maximum);

/// One of these words, which completions offer.
CLI::Validator one_of(std::vector<std::string> words);

/// Any text but an empty one.
CLI::Validator any_text();

/// Seconds of a time above 0 as people write it: "40ms", "1s", "0.5". Throws InputError, naming `flag`.
double duration_of(const char* flag, const std::string& text);

/// Bytes a second of a link, above 0, as data sheets write it: "50GB/s", "400Gb/s". Throws InputError, naming `flag`.
double link_speed_of(const char* flag, const std::string& text);

/// The values of a list "1,2,4". Throws CLI::ValidationError, naming `flag`, where one of them is empty.
std::vector<std::string> split_list(const std::string& flag, const std::string& text);

/// A flag that takes a list with commas, each value of which `each` checks; it may be repeated. The first use takes the
/// place of what `values` holds.
template <class Value>
CLI::Option* add_list(CLI::App& command, const std::string& flag, std::vector<Value>& values, const std::string& doc,
                      const std::string& type, const CLI::Validator& each) {
  const auto take = [flag, &values, each](const std::vector<std::string>& texts) {
    values.clear();
    for (const std::string& text : texts)
      for (std::string item : split_list(flag, text)) {
        if (const std::string problem = each(item); !problem.empty()) throw CLI::ValidationError(flag, problem);
        if constexpr (std::is_same_v<Value, std::string>) {
          values.push_back(item);
        } else {
          Value value = 0;
          std::from_chars(item.data(), item.data() + item.size(), value);
          values.push_back(value);
        }
      }
  };
  CLI::Option* const option = command.add_option_function<std::vector<std::string>>(flag, take, doc)
                                  ->take_all()
                                  ->allow_extra_args(false)
                                  ->type_name(type);
  if (const Offers one = offers_in(each.get_name()); !one.words.empty()) option->check(offers({one.words, true}));
  return option;
}

}  // namespace hybridkv
