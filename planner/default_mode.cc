#include "planner/default_mode.h"

#include <algorithm>

namespace hybridkv {

CacheMode default_cache_mode(const EngineRules& rules, const ModelSpec& model) {
  const auto has = [&](auto member) {
    return std::any_of(model.layers.begin(), model.layers.end(),
                       [&](const LayerSpec& layer) { return (layer.*member).has_value(); });
  };
  const bool keeps_states_alone = has(&LayerSpec::recurrent) && !has(&LayerSpec::attention);
  const bool caches = rules.caches_by_default && (rules.caches_states_alone || !keeps_states_alone);
  return caches ? CacheMode::align : CacheMode::none;
}

}  // namespace hybridkv
