#include "planner/full_load.h"

#include <algorithm>

#include "base/checked.h"
#include "planner/capacity.h"
#include "planner/demand.h"
#include "planner/waste.h"
#include "planner/waste_decisions.h"

namespace hybridkv {

std::int64_t requests_at_once(const CachePlan& plan, std::int64_t tokens) {
  if (plan.rows && tokens > plan.rows->slot_cells) return 0;
  return std::min(running_requests(plan, request_demand(plan, tokens)), plan.max_running_requests);
}

CachePlan with_full_load(CachePlan plan, std::int64_t tokens) {
  const auto requests = static_cast<std::size_t>(requests_at_once(plan, tokens));
  plan.waste.at_load = waste_at_load(plan, plan.waste.per_block, std::vector<std::int64_t>(requests, tokens));
  derive_load_again(plan);
  return plan;
}

std::vector<MemoryPart> memory_parts(const CachePlan& plan) {
  const LoadWaste& load = plan.waste.at_load;
  const bool two_level = plan.strategy == Strategy::two_level;
  std::vector<std::string> padding{"state padding at the load", "attention padding at the load",
                                   "short last packs at the load", "empty slots at the load"};
  if (two_level) padding.emplace_back("unused small pages at the load");
  const std::int64_t outside = plan.tree_pools ? plan.tree_pools->outside_bytes() : 0;
  const std::int64_t beside =
      Checked(plan.allocated_bytes()) - load.pool_bytes + outside + plan.waste.unallocated_bytes;
  return {
      {"tokens", "K and V of tokens", load.token_bytes, {"K and V of live tokens at the load"}},
      {"states", "running states", load.state_bytes, {"running states at the load"}},
      {"more_states", "further states", load.extra_state_bytes, {"checkpoints and speculative states at the load"}},
      {"padding", "padding", Checked(load.wasted_bytes()) - load.block_tail_bytes, std::move(padding)},
      {"tails", "tails of last blocks", load.block_tail_bytes, {"tails of last blocks at the load"}},
      {"reserved", "reserved", Checked(load.null_block_bytes) + beside, {"null block at the load", "unallocated"}},
      {"idle", "idle", load.free_bytes, {"blocks no request holds at the load"}},
  };
}

}  // namespace hybridkv
