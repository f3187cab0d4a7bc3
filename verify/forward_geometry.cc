#include "verify/forward_geometry.h"

#include <algorithm>

#include "layout/checked.h"

namespace hybridkv {

namespace {

/// The block of attention, or in a model without any that of its states.
std::int64_t block_tokens(const CachePlan& plan) {
  for (const SpecPlan& spec : plan.specs)
    if (spec.attention && !spec.draft) return spec.block_size_tokens;
  return plan.specs.front().block_size_tokens;
}

}  // namespace

CacheGeometry forward_geometry(const CachePlan& plan) {
  CacheGeometry geometry;
  geometry.block_size_tokens = block_tokens(plan);
  geometry.num_blocks = plan.num_blocks;
  geometry.attention_groups = geometry.state_groups = 0;
  for (const GroupPlan& group : plan.groups) {
    const SpecPlan& spec = plan.specs[group.spec];
    if (spec.state) {
      ++geometry.state_groups;
      continue;
    }
    ++geometry.attention_groups;
    geometry.attention_masks.push_back(key_mask(spec.attention->kind, spec.attention->window_tokens));
  }
  geometry.mode = plan.cache_mode;
  geometry.speculative_tokens = plan.speculative_tokens;
  geometry.max_num_batched_tokens = geometry.block_size_tokens + geometry.block_size_tokens / 2 + 1;
  return geometry;
}

std::int64_t most_block_ids(const CacheGeometry& geometry, std::int64_t tokens) {
  const Checked blocks = ceil_div(tokens, geometry.block_size_tokens);
  return geometry.attention_groups * blocks +
         geometry.state_groups * (blocks + 2 + geometry.speculative_tokens);
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
  return Checked(1) + 3 * Checked(most_block_ids(geometry, tokens));
}

}  // namespace hybridkv
