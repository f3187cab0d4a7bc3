#include "python/keywords.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/suggest.h"
#include "scenarios/key_table.h"
#include "scenarios/scenario_keys.h"

namespace hybridkv {

namespace {

struct KnownNames {
  std::unordered_map<std::string, std::string> key_of;
  std::vector<std::string> in_order;

  void add(const std::string& name, std::string key) {
    if (key_of.emplace(name, std::move(key)).second) in_order.push_back(name);
  }
};

const KnownNames& names() {
  static const KnownNames names = [] {
    KnownNames all;
    const SectionInfo& root = scenario_keys().info();
    for (const KeyInfo& key : root.keys) all.add(key.name, key.name);
    for (const char* section : {"engine", "limits", "simulate", "verify", "workspace"})
      for (const KeyInfo& key : root.find(section)->section->keys)
        all.add(key.name, fmt::format("{}.{}", section, key.name));
    const SectionInfo& simulate = *root.find("simulate")->section;
    for (const char* section : {"trace", "cost", "clock", "fleet"})
      for (const KeyInfo& key : simulate.find(section)->section->keys)
        all.add(key.name, fmt::format("simulate.{}.{}", section, key.name));
    return all;
  }();
  return names;
}

}  // namespace

std::string key_of_keyword(std::string_view keyword) {
  const std::string name(keyword);
  if (name.find('.') != std::string::npos) return name;
  const auto found = names().key_of.find(name);
  if (found != names().key_of.end()) return found->second;
  const std::string problem = fmt::format("no key of a scenario is called so{}", did_you_mean(name, names().in_order));
  throw InputError(fmt::format("{}: {}", name, problem), name, problem);
}

std::vector<std::string> keywords() { return names().in_order; }

}  // namespace hybridkv
