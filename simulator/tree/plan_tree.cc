#include "simulator/tree/plan_tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "planner/tree_settings.h"
#include "planner/tree_split.h"

namespace hybridkv {

TreeSettings tree_settings_of(const CachePlan& plan, const ModelSpec& model, const EngineSpec& engine) {
  expects(plan.tree_pools.has_value(), "a plan with tree pools");
  if (plan.cache_mode == CacheMode::none)
    throw SpecError("engine.cache_mode", "is none: without a radix tree nothing is found again; take align");
  const TreePools& pools = *plan.tree_pools;
  const std::int64_t chunk = plan.max_num_batched_tokens / pools.page_tokens * pools.page_tokens;
  if (chunk == 0)
    throw SpecError("engine.max_num_batched_tokens",
                    fmt::format("a chunk of {} tokens is no page of {}; take one at least",
                                plan.max_num_batched_tokens, pools.page_tokens));
  TreeSettings settings{.token_slots = pools.split.token_slots,
                        .state_slots = pools.split.state_slots,
                        .page = pools.page_tokens,
                        .chunk_tokens = chunk,
                        .model_chunk = tree_scan_chunk(model),
                        .track_interval = track_interval(engine),
                        .strategy = pools.strategy,
                        .overlap = engine.own[tree_key::overlap_schedule],
                        .skip_decode_lock = engine.own[tree_key::skip_decode_lock],
                        .host = pools.host,
                        .max_running = std::max<std::int64_t>(1, pools.split.max_running)};
  settings.check();
  return settings;
}

}  // namespace hybridkv
