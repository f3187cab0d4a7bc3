#include "scenarios/engine_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace hybridkv {

namespace {

using Releases = std::vector<const EngineRules*>;

/// The name without what begins with a digit behind a hyphen.
std::string_view without_version(std::string_view release) {
  for (std::size_t i = 1; i < release.size(); ++i)
    if (release[i - 1] == '-' && release[i] >= '0' && release[i] <= '9') return release.substr(0, i - 1);
  return release;
}

/// Of the releases of one engine.
std::string releases_with(const Releases& releases, const std::function<bool(const EngineRules&)>& holds) {
  const auto is_with = [&](const EngineRules* rules) { return holds(*rules); };
  const auto first = std::find_if(releases.begin(), releases.end(), is_with);
  if (std::all_of(first, releases.end(), is_with)) {
    if (first == releases.end()) return "";
    return first == releases.begin() ? std::string(without_version((*first)->name))
                                     : fmt::format("from {} on", (*first)->name);
  }
  std::string names;
  for (const EngineRules* const rules : releases)
    if (holds(*rules)) names += fmt::format("{}{}", names.empty() ? "" : ", ", rules->name);
  return names;
}

}  // namespace

std::string engines_with(const std::function<bool(const EngineRules&)>& holds) {
  std::vector<std::pair<std::string_view, Releases>> engines;
  for (const EngineRules* const rules : all_engine_rules()) {
    const std::string_view name = without_version(rules->name);
    const auto known = std::find_if(engines.begin(), engines.end(), [&](const auto& one) { return one.first == name; });
    if (known != engines.end()) known->second.push_back(rules);
    else engines.push_back({name, {rules}});
  }
  std::string text;
  for (const auto& [name, releases] : engines)
    if (const std::string with = releases_with(releases, holds); !with.empty())
      text += fmt::format("{}{}", text.empty() ? "" : ", ", with);
  return text;
}

std::string words_by_engine(const std::function<std::string_view(const EngineRules&)>& words_of) {
  std::vector<std::string_view> said;
  std::string text;
  for (const EngineRules* const rules : all_engine_rules()) {
    const std::string_view words = words_of(*rules);
    if (words.empty() || std::find(said.begin(), said.end(), words) != said.end()) continue;
    said.push_back(words);
    const auto says = [&](const EngineRules& other) { return words_of(other) == words; };
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", engines_with(says), words);
  }
  return text;
}

std::string engines_taking(std::string_view key) {
  return engines_with([&](const EngineRules& rules) { return takes(rules, key); });
}

std::string meanings_of(std::string_view key) {
  return words_by_engine([&](const EngineRules& rules) -> std::string_view {
    for (const KeyWords& meaning : rules.meanings)
      if (meaning.key == key) return meaning.words;
    return {};
  });
}

}  // namespace hybridkv
