#include "verify/forward_geometry.h"

#include <algorithm>

#include "base/checked.h"
#include "planner/primary_attention.h"
#include "simulator/plan_geometry.h"

namespace hybridkv {

namespace {

void set_arena(CacheGeometry& geometry, std::int64_t arena, std::int64_t num_ids) {
  (arena == 0 ? geometry.num_blocks : geometry.more_arenas[static_cast<std::size_t>(arena - 1)]) = num_ids;
}

}  // namespace

CacheGeometry forward_geometry(const CachePlan& plan) {
  CacheGeometry geometry = arenas_of(plan);
  geometry.block_size_tokens = primary_block_tokens(plan);
  for (const GroupPlan& group : plan.groups) {
    add_group(geometry, plan, group);
    const auto& attention = plan.spec_of(group).attention;
    if (attention) geometry.attention_masks.push_back(key_mask(attention->kind, attention->window_tokens));
  }
  geometry.max_num_batched_tokens = geometry.block_size_tokens + geometry.block_size_tokens / 2 + 1;
  return geometry;
}

GroupCount groups_of_arena(const CacheGeometry& geometry, std::int64_t arena) {
  GroupCount count;
  for (std::int64_t group = 0; group < geometry.attention_groups; ++group)
    count.attention += geometry.attention_arena(group) == arena;
  for (std::int64_t group = 0; group < geometry.state_groups; ++group)
    count.states += geometry.state_arena(group) == arena;
  return count;
}

std::int64_t most_block_ids(const CacheGeometry& geometry, std::int64_t arena, std::int64_t tokens) {
  const Checked blocks = ceil_div(tokens, geometry.block_size_tokens);
  const GroupCount groups = groups_of_arena(geometry, arena);
  return groups.attention * blocks + groups.states * (blocks + 2 + geometry.speculative_tokens);
}

void size_arenas(CacheGeometry& geometry, const std::function<std::int64_t(std::int64_t arena)>& ids_of) {
  for (std::int64_t arena = 0; arena < geometry.num_arenas(); ++arena) set_arena(geometry, arena, 1 + ids_of(arena));
}

std::int64_t first_give_back(const CacheGeometry& geometry) {
  const std::int64_t block = geometry.block_size_tokens;
  Checked latest = 0;
  for (const KeyMask& mask : geometry.attention_masks) {
    if (mask.kind == MaskKind::sliding_window)
      latest = std::max<std::int64_t>(latest, Checked(block) + mask.window_tokens - 1);
    if (mask.kind == MaskKind::chunked_local)
      latest = std::max<std::int64_t>(latest, Checked(ceil_div(block, mask.window_tokens)) * mask.window_tokens);
  }
  return latest;
}

std::int64_t forward_pool_blocks(const CachePlan& plan) {
  const CacheGeometry geometry = forward_geometry(plan);
  const Checked block = geometry.block_size_tokens;
  const std::int64_t tokens = std::max<std::int64_t>(4 * block, first_give_back(geometry) + 2 * block);
  Checked most = 0;
  for (std::int64_t arena = 0; arena < geometry.num_arenas(); ++arena)
    most = std::max(most, Checked(most_block_ids(geometry, arena, tokens)));
  return Checked(1) + 3 * most;
}

}  // namespace hybridkv
