#include "simulator/plan_geometry.h"

#include <fmt/format.h>

#include <algorithm>

#include "layout/checked.h"
#include "layout/error.h"
#include "planner/block_ids.h"
#include "planner/prefix.h"

namespace hybridkv {

CacheGeometry geometry_of(const CachePlan& plan, const EngineSpec& engine) {
  CacheGeometry geometry;
  geometry.num_blocks = plan.num_blocks;
  geometry.attention_groups = 0;
  geometry.mode = plan.cache_mode;
  geometry.speculative_tokens = plan.speculative_tokens;
  geometry.drafter_drops_block = drafter_drops_block(engine);
  geometry.max_num_batched_tokens = plan.max_num_batched_tokens;
  for (const CapacityPlan& capacity : plan.capacity)
    geometry.max_model_len = std::max(geometry.max_model_len.value_or(1), capacity.max_model_len);
  const auto set_block = [&](const SpecPlan& spec) {
    if (geometry.block_size_tokens == 0) geometry.block_size_tokens = spec.block_size_tokens;
    if (geometry.block_size_tokens != spec.block_size_tokens)
      throw SpecError("model.layers", fmt::format("the simulator needs one block size for all groups, the plan has {} "
                                                  "and {} tokens", geometry.block_size_tokens, spec.block_size_tokens));
  };
  Checked extras = 0;
  for (const ExtraPlan& extra : plan.extras) extras += extra.blocks_per_request;
  for (const GroupPlan& group : plan.groups) {
    const SpecPlan& spec = plan.specs[static_cast<std::size_t>(group.spec)];
    if (spec.state) {
      ++geometry.state_groups;
      // In mode none a recurrent block is the whole request; it says nothing of the attention block.
      if (plan.cache_mode != CacheMode::none) set_block(spec);
    } else if (spec.attention->kind == AttentionKind::full || spec.attention->kind == AttentionKind::mla) {
      ++geometry.attention_groups;
      set_block(spec);
    } else if (spec.attention->kind == AttentionKind::hidden_state) {
      // Found again block by block, as attention is; its group comes after all others, whose block is known by now.
      if (geometry.block_size_tokens == 0) geometry.block_size_tokens = spec.block_size_tokens;
      if (spec.block_size_tokens != geometry.block_size_tokens)
        throw SpecError("engine.hidden_state_size",
                        fmt::format("the simulator needs one block size for all groups, hidden states have a block of "
                                    "{} tokens and the others one of {}; simulate without hidden states",
                                    spec.block_size_tokens, geometry.block_size_tokens));
      ++geometry.attention_groups;
    } else {
      extras += group_block_ids(plan, spec, std::int64_t{1} << 40);
    }
  }
  geometry.extra_blocks_per_request = extras;
  if (geometry.block_size_tokens == 0) geometry.block_size_tokens = plan.specs.front().block_size_tokens;
  return geometry;
}

}  // namespace hybridkv
