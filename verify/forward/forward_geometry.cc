#include "verify/forward/forward_geometry.h"

#include <algorithm>

#include "base/checked.h"
#include "planner/primary_attention.h"
#include "planner/table_rule.h"
#include "simulator/blocks/plan_geometry.h"

namespace hybridkv {

namespace {

/// The cases count in it where no group has a block: in mode none a state is that of the whole request.
constexpr std::int64_t tokens_without_blocks = 16;

/// Blocks of an arena in a large page, or one where it has memory of its own.
std::int64_t blocks_in_page(const CacheGeometry& geometry, std::int64_t arena) {
  return geometry.shares_large_pages() ? geometry.blocks_per_large_page[static_cast<std::size_t>(arena)] : 1;
}

/// Large pages that so many blocks of an arena fill.
std::int64_t large_pages(const CacheGeometry& geometry, std::int64_t arena, std::int64_t ids) {
  return ceil_div(ids, blocks_in_page(geometry, arena));
}

void set_arena(CacheGeometry& geometry, std::int64_t arena, std::int64_t num_ids) {
  (arena == 0 ? geometry.num_blocks : geometry.more_arenas[static_cast<std::size_t>(arena - 1)]) = num_ids;
}

}  // namespace

CacheGeometry forward_geometry(const CachePlan& plan) {
  CacheGeometry geometry = arenas_of(plan);
  geometry.rules = prefix_rules_of(plan);
  geometry.has_encoder = plan.has_cross_attention();  // prompts are cut all the same, so that more is proven
  geometry.rules.lookahead_tokens = plan.rules->match_units && plan.speculative_tokens > 0 ? 1 : 0;
  geometry.retention_interval_tokens = plan.rules->retention_tokens;
  const bool any_block = primary_attention(plan) != nullptr || plan.cache_mode != CacheMode::none;
  std::int64_t block = any_block ? primary_block_tokens(plan) : tokens_without_blocks;
  for (const GroupPlan& group : plan.groups) {
    if (group.shares_table) continue;  // the ids of the group before it
    const SpecPlan& spec = plan.spec_of(group);
    if (spec.ring_tokens > 0 || spec.is_cross()) {  // in which nothing is found again
      geometry.held_groups.push_back(
          {.arena = group.arena.value, .tables = group.ids_per_entry, .rule = table_rule(plan, spec)});
      continue;
    }
    add_group(geometry, plan, group);
    if (!spec.attention) continue;
    geometry.attention_masks.push_back(key_mask(spec.attention->kind, spec.attention->window_tokens));
    geometry.attention_block_sizes.push_back(spec.block_size_tokens);
    block = checked_lcm(block, spec.block_size_tokens);
  }
  geometry.block_size_tokens = block;
  for (const SpecPlan& spec : plan.specs)
    if (spec.state && !spec.auxiliary && plan.cache_mode != CacheMode::none && spec.block_size_tokens != block)
      geometry.state_block_size_tokens = spec.block_size_tokens;
  const auto& sizes = geometry.attention_block_sizes;
  if (std::all_of(sizes.begin(), sizes.end(), [&](std::int64_t size) { return size == block; }))
    geometry.attention_block_sizes.clear();
  geometry.max_num_batched_tokens = geometry.block_size_tokens + geometry.block_size_tokens / 2 + 1;
  if (plan.rules->match_units) geometry.in_flight_tokens = 2 * geometry.max_num_batched_tokens;
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
  Checked ids = groups_of_arena(geometry, arena).states *
                (Checked(ceil_div(tokens, geometry.state_block())) + 2 + geometry.draft_states());
  for (std::int64_t group = 0; group < geometry.attention_groups; ++group)
    if (geometry.attention_arena(group) == arena) ids += ceil_div(tokens, geometry.attention_block(group));
  for (const HeldGroup& group : geometry.held_groups)
    if (group.arena == arena) ids += group.blocks(tokens);
  return ids;
}

std::int64_t usable_ids(const CacheGeometry& geometry, std::int64_t arena) {
  return geometry.arena_blocks(arena) - blocks_in_page(geometry, arena);
}

void size_arenas(CacheGeometry& geometry, const std::function<std::int64_t(std::int64_t arena)>& ids_of) {
  if (geometry.shares_large_pages()) {
    Checked pages = 1;
    for (std::int64_t arena = 0; arena < geometry.num_arenas(); ++arena)
      pages += large_pages(geometry, arena, ids_of(arena));
    return geometry.set_large_pages(pages);
  }
  for (std::int64_t arena = 0; arena < geometry.num_arenas(); ++arena) set_arena(geometry, arena, 1 + ids_of(arena));
}

std::int64_t first_give_back(const CacheGeometry& geometry) {
  Checked latest = 0;
  for (std::int64_t group = 0; group < std::ssize(geometry.attention_masks); ++group) {
    const KeyMask& mask = geometry.attention_masks[static_cast<std::size_t>(group)];
    const std::int64_t block = geometry.attention_block(group);
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
  for (std::int64_t arena = 0; arena < geometry.num_arenas(); ++arena) {
    const std::int64_t ids = most_block_ids(geometry, arena, tokens);
    most = geometry.shares_large_pages() ? most + large_pages(geometry, arena, ids) : std::max(most, Checked(ids));
  }
  return Checked(1) + 3 * most;
}

}  // namespace hybridkv
