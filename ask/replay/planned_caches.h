#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scenarios/scenario.h"
#include "simulator/cache_replay.h"

namespace hybridkv {

/// Does the engine keep blocks? Else it has an index of its own.
bool has_block_index(const EngineRules& rules);

/// The cache of a plan of the scenario, by the index of its engine, which refuses prompts of that length or more
/// (default: the longest of the scenario). Throws SpecError for what cannot be replayed.
AnyCache cache_of(const CachePlan& plan, const Scenario& scenario, std::int64_t max_model_len);
AnyCache cache_of(const CachePlan& plan, const Scenario& scenario);

/// The caches of the scenario's plans: one for each pack and length, as another length refuses other prompts. Throws
/// InputError with the place of what cannot be planned or replayed.
std::vector<AnyCache> planned_caches(const Scenario& scenario);

/// Caches of blocks that are described without a plan.
struct BareCaches {
  std::vector<std::int64_t> block_sizes;             ///< tokens
  std::vector<std::int64_t> num_blocks;              ///< of the pool, null block included
  std::vector<CacheMode> modes{CacheMode::align};
  std::int64_t attention_groups = 1;
  std::int64_t state_groups = 0;
  std::optional<std::int64_t> max_num_batched_tokens;  ///< default: the geometry's
};

/// The product of modes, block sizes and numbers of blocks, in this order.
std::vector<AnyCache> bare_caches(const BareCaches& caches, const SimulateRequest& request);

}  // namespace hybridkv
