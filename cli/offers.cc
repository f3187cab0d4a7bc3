#include "cli/offers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <string_view>

namespace hybridkv {

namespace {

constexpr std::string_view one_mark = "offers one of\n";
constexpr std::string_view list_mark = "offers some of\n";
constexpr std::string_view key_mark = "@key ";

}  // namespace

std::string offered_words_of(const std::string& key) { return std::string(key_mark) + key; }

std::string key_of_offer(const std::string& word) {
  return word.starts_with(key_mark) ? word.substr(key_mark.size()) : std::string();
}

std::string offers_name(const Offers& offers) {
  return fmt::format("{}{}", offers.is_list ? list_mark : one_mark, fmt::join(offers.words, "\n"));
}

CLI::Validator offers(Offers offers) {
  return CLI::Validator([](std::string&) { return std::string(); }, "", offers_name(offers));
}

Offers offers_in(const std::string& name) {
  Offers found;
  found.is_list = name.starts_with(list_mark);
  if (!found.is_list && !name.starts_with(one_mark)) return found;
  std::istringstream words(name.substr(found.is_list ? list_mark.size() : one_mark.size()));
  for (std::string word; std::getline(words, word);) found.words.push_back(word);
  return found;
}

Offers offers_of(CLI::Option& option) {
  try {
    for (int i = 0;; ++i)
      if (Offers found = offers_in(option.get_validator(i)->get_name()); !found.words.empty()) return found;
  } catch (const CLI::OptionNotFound&) {
    // That was the last one: CLI11 does not say how many there are.
  }
  const std::string type = option.get_positional() ? option.get_name(true) : option.get_type_name();
  const auto is_any_of = [&](std::initializer_list<std::string_view> types) {
    return std::find(types.begin(), types.end(), type) != types.end();
  };
  if (is_any_of({"FILE", "FILES", "LOG", "CONFIG"})) return {{offered_files}};
  if (is_any_of({"DIR"})) return {{offered_folders}};
  if (is_any_of({"SCENARIO", "FROM", "TO"})) return {{offered_scenarios, offered_models, offered_files}};
  if (is_any_of({"KEY=VALUE", "KEY=VALUES"})) return {{offered_keys}};
  return {};
}

}  // namespace hybridkv
