#include "planner/engine_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "planner/model_spec.h"

namespace hybridkv {

std::string cited(const EngineRules& rules, RuleOf rule) {
  if (rule == RuleOf::arithmetic) return "arithmetic of this plan";
  const std::string_view source = rules.source ? rules.source(rule) : std::string_view();
  return std::string(source.empty() ? "modelled" : source);
}

const UnservedModels* unserved_by(const EngineRules& rules, const ModelSpec& model) {
  const auto has_family = [&](std::string_view family) {
    return std::any_of(model.layers.begin(), model.layers.end(), [&](const LayerSpec& layer) {
      return layer.recurrent && family_name(*layer.recurrent) == family;
    });
  };
  for (const UnservedModels& models : rules.unserved)
    if (models.family.empty() ? model.name.starts_with(models.name_begins) : has_family(models.family)) return &models;
  return nullptr;
}

std::string unserved_text(const EngineRules& rules, const UnservedModels& models) {
  return fmt::format("{} does not serve {}; take another engine.release", rules.title, models.architecture);
}

std::vector<std::string> release_names() {
  std::vector<std::string> names;
  for (const EngineRules* const rules : all_engine_rules()) names.emplace_back(rules->name);
  return names;
}

std::string releases_with(bool (*holds)(const EngineRules& rules)) {
  std::vector<std::string_view> names;
  for (const EngineRules* const rules : all_engine_rules())
    if (holds(*rules)) names.push_back(rules->name);
  if (names.empty()) return "another";
  std::sort(names.begin(), names.end());
  const std::string last(names.back());
  names.pop_back();
  return names.empty() ? last : fmt::format("{} or {}", fmt::join(names, ", "), last);
}

const EngineRules* rules_named(std::string_view name) {
  const auto all = all_engine_rules();
  const auto at = std::find_if(all.begin(), all.end(), [&](const EngineRules* rules) { return rules->name == name; });
  return at == all.end() ? nullptr : *at;
}

}  // namespace hybridkv
