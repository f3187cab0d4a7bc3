#include "ask/models.h"

#include <set>

#include "base/suggest.h"
#include "planner/plan.h"

namespace hybridkv {

namespace {

/// Memory just enough, because only sizes are looked at.
CachePlan default_plan(const ModelSpec& model) {
  EngineSpec engine;
  engine.cache_mode = CacheMode::align;
  engine.num_blocks = std::int64_t(1) << 20;
  return make_plan(model, engine, LimitsSpec{.max_model_lens = {1}}, std::nullopt, PlanDetail::numbers);
}

bool has_family(const ModelSpec& model, const std::string& family) {
  for (const LayerSpec& layer : model.layers)
    if (layer.recurrent && family_name(*layer.recurrent) == family) return true;
  return false;
}

bool is_called(const ShippedModel& shipped, const std::string& part) {
  if (contains_ignoring_case(shipped.model.name, part)) return true;
  if (const ShippedModel* const meant = find_shipped_model(part); meant && meant->file == shipped.file) return true;
  for (const std::string& alias : shipped.aliases)
    if (contains_ignoring_case(alias, part)) return true;
  return false;
}

}  // namespace

ListedModel listed(const ShippedModel& shipped) {
  return {shipped.model, shipped.aliases, shipped.unverified, default_plan(shipped.model)};
}

std::vector<ListedModel> list_models(const std::string& name, const std::string& family) {
  std::vector<ListedModel> models;
  for (const ShippedModel& shipped : shipped_models())
    if ((family.empty() || has_family(shipped.model, family)) && is_called(shipped, name))
      models.push_back(listed(shipped));
  return models;
}

std::vector<std::string> shipped_families() {
  std::set<std::string> families;
  for (const ShippedModel& shipped : shipped_models())
    for (const LayerSpec& layer : shipped.model.layers)
      if (layer.recurrent) families.emplace(family_name(*layer.recurrent));
  return {families.begin(), families.end()};
}

}  // namespace hybridkv
