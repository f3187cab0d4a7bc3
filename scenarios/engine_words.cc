#include "scenarios/engine_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "planner/advised_release.h"

namespace hybridkv {

std::string engines_with(const std::function<bool(const EngineRules&)>& holds) {
  const auto all = all_engine_rules();
  const auto is_with = [&](const EngineRules* rules) { return holds(*rules); };
  std::string text;
  for (auto begin = all.begin(), end = begin; begin != all.end(); begin = end) {
    const std::string_view engine = without_version((*begin)->name);
    const auto is_other = [&](const EngineRules* rules) { return without_version(rules->name) != engine; };
    end = std::find_if(begin, all.end(), is_other);
    const auto first = std::find_if(begin, end, is_with);
    if (first == end) continue;
    if (!text.empty()) text += ", ";
    text += !std::all_of(first, end, is_with) ? fmt::format("some releases of {}", engine)
            : first == begin                  ? std::string(engine)
                                              : fmt::format("from {} on", (*first)->name);
  }
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
