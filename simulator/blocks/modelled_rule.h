#pragma once

#include <string_view>
#include <vector>

#include "simulator/blocks/cache_geometry.h"

namespace hybridkv {

/// Parts of the rules that no replay of a real engine covers; results that depend on one are "modelled".
enum class ModelledRule {
  decode,
  several_in_flight,
  preemption,
  drafter,
  retention_interval,
  match_unit,
  speculative_states,
  extra_blocks,
  watermark,
  long_prefill_threshold,
  several_attention_groups,
  states_without_caching,  ///< mode none with recurrent groups
  several_arenas,
  unequal_blocks,          ///< groups with blocks of their own size
  draft_tokens,            ///< 0.33: tokens that a drafter proposed
  several_drafter_modules, ///< 0.33: keys that look more than one token ahead
  drafter_windows,         ///< 0.33: windows in a drafter's group
  several_windows,         ///< 0.33: groups of different windows, or windows beside states
  large_pages,             ///< that arenas share
  host_tier,               ///< memory of the host behind the pools
  eviction_policy,         ///< one that no engine has
  checkpoint_back,         ///< the last state of a prompt lies before its last boundary
  layout,                  ///< pages such as no run of an engine had
};
std::string_view to_string(ModelledRule rule);

/// The modelled rules that this geometry brings into play, whatever the driver.
std::vector<ModelledRule> modelled_rules(const CacheGeometry& geometry);

}  // namespace hybridkv
