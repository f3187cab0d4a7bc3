#include "planner/start_count.h"

#include "base/checked.h"
#include "planner/demand.h"
#include "planner/table_rule.h"

namespace hybridkv {

std::optional<StartCount> start_count(const CachePlan& plan, const CapacityPlan& capacity) {
  if (!plan.rules->reserves_encoder_batch) return std::nullopt;
  Checked taken = 0, reserved = 0;
  StartCount count;
  for (const GroupPlan& group : plan.groups) {
    const SpecPlan& spec = plan.spec_of(group);
    if (!spec.is_cross() || spec.encoder_tokens >= plan.max_num_batched_tokens) continue;
    count.encoder_tokens = spec.encoder_tokens;
    taken += group_ids(plan, group, 1);
    reserved += ids_of_entries(
        group, table_entries(table_of_encoder(plan.max_num_batched_tokens, spec.block_size_tokens), 1));
  }
  if (count.encoder_tokens == 0) return std::nullopt;
  count.ids = Checked(capacity.blocks_per_request) + reserved - taken;
  count.concurrency = static_cast<double>(plan.num_blocks()) / static_cast<double>(count.ids);
  count.tokens = static_cast<std::int64_t>(count.concurrency * static_cast<double>(capacity.max_model_len));
  return count;
}

}  // namespace hybridkv
