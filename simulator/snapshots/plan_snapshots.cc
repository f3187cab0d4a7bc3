#include "simulator/snapshots/plan_snapshots.h"

#include "base/error.h"
#include "planner/snapshot_prefix.h"

namespace hybridkv {

SnapshotSettings snapshot_settings_of(const CachePlan& plan) {
  expects(plan.pool_groups.has_value(), "a plan with pool groups");
  const PoolGroups& groups = *plan.pool_groups;
  if (groups.first_manager)
    throw SpecError("engine.use_kv_cache_manager_v2",
                    "is false: only the sizes of the first manager are known, not how it finds prefixes; leave it out");
  SnapshotSettings settings{.blocks = plan.arenas[0].num_ids,
                            .states = plan.arenas[1].num_ids,
                            .host_blocks = groups.host.blocks,
                            .host_states = groups.host.states,
                            .block_tokens = block_tokens_of(plan),
                            .chunk_tokens = plan.max_num_batched_tokens,
                            .points = groups.points,
                            .partial_reuse = groups.partial_reuse,
                            .evicts_alone = groups.evicts_alone};
  settings.check();
  return settings;
}

}  // namespace hybridkv
