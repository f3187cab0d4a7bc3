#include "cli/engine_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>
#include <vector>

#include "engines/engine.h"

namespace hybridkv {

namespace {

std::vector<std::string_view> names_through(ForwardPath path) {
  std::vector<std::string_view> names;
  for (const EngineRules* const rules : all_engine_rules())
    if (forward_path_of(*rules) == path) names.push_back(rules->name);
  return names;
}

std::string_view first_through(ForwardPath path) {
  const std::vector<std::string_view> names = names_through(path);
  return names.empty() ? default_rules()->name : names.front();
}

}  // namespace

std::string with_engines(std::string help) {
  const Engine& today = engine_of_today();
  const std::pair<std::string_view, std::string_view> words[] = {
      {"{packs}", default_rules()->name},
      {"{family}", today.rules->name.substr(0, today.rules->name.find('-'))},
      {"{today}", today.rules->name},
      {"{command}", today.command ? today.command->programs.front() : std::string_view("COMMAND")},
      {"{tree}", first_through(ForwardPath::tree)},
      {"{slots}", first_through(ForwardPath::slots)}};
  for (const auto& [word, name] : words)
    for (std::size_t at = help.find(word); at != std::string::npos; at = help.find(word, at + name.size()))
      help.replace(at, word.size(), name);
  return help;
}

std::string engines_through(ForwardPath path) { return fmt::format("{}", fmt::join(names_through(path), ", ")); }

}  // namespace hybridkv
