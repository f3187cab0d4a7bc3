#include "ask/plot/prefix_stairs.h"

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "planner/plan.h"
#include "planner/plan_facts.h"
#include "planner/prefix.h"
#include "planner/primary_attention.h"
#include "simulator/blocks/closed_form.h"
#include "simulator/blocks/plan_geometry.h"

namespace hybridkv {

namespace {

/// One layout in one mode, as far as prefix caching goes.
struct PlannedStairs {
  std::int64_t pack = 1;
  std::int64_t block = 0;
  CacheGeometry geometry;
};

std::vector<PlannedStairs> layouts_in_mode(const PlotInputs& inputs, CacheMode mode) {
  EngineSpec engine = inputs.engine;
  engine.cache_mode = mode;
  engine.num_blocks = std::int64_t{1} << 24;
  std::vector<std::int64_t> packs;
  for (const CachePlan& plan : inputs.set.plans) packs.push_back(plan.attention_pack_size);
  std::vector<PlannedStairs> layouts;
  for (const CachePlan& plan : make_plans(inputs.model, engine, inputs.limits, packs).plans)
    layouts.push_back({plan.attention_pack_size, primary_block_tokens(plan), geometry_of(plan, engine)});
  return layouts;
}

/// Lengths at which stairs may rise or fall, and their neighbours.
void add_corners(std::set<std::int64_t>& lengths, std::int64_t at, std::int64_t most) {
  for (const std::int64_t near : {at - 1, at, at + 1})
    if (near >= 1 && near <= most) lengths.insert(near);
}

/// Tokens from one stair to the next.
std::int64_t stair_tokens(const CacheGeometry& geometry) {
  return geometry.has_partial_tails() ? geometry.match_unit() : geometry.block_size_tokens;
}

/// Where chunks are cut to blocks, a prompt that ends on a boundary is an edge of its own: nothing of it hits.
/// Elsewhere the last state lies before the last token.
bool has_knife_edges(const CacheGeometry& geometry) { return geometry.rules.blocks->cuts_to_blocks(geometry); }

bool is_knife_edge(const CacheGeometry& geometry, std::int64_t length) {
  return has_knife_edges(geometry) && length % geometry.block_size_tokens == 0;
}

std::int64_t copy_hit(const CacheGeometry& geometry, std::int64_t length) {
  return geometry.rules.blocks->short_copy_hit(geometry, length);
}

/// A round number of at least three of the largest blocks.
std::int64_t shown_tokens(const std::vector<PlannedStairs>& all) {
  std::int64_t largest = 1;
  for (const PlannedStairs& layout : all) largest = std::max(largest, layout.geometry.block_size_tokens);
  std::int64_t shown = 1024;
  while (shown < Checked(largest) * 3) shown *= 2;
  return shown;
}

/// Hits of a prompt sent a second time.
PrefixSituation copies(const PlotInputs& inputs, CacheMode mode) {
  const std::vector<PlannedStairs> all = layouts_in_mode(inputs, mode);
  const std::int64_t most = shown_tokens(all);
  std::set<std::int64_t> lengths{1, most};
  for (const PlannedStairs& layout : all)
    for (std::int64_t at = stair_tokens(layout.geometry); at <= most; at += stair_tokens(layout.geometry))
      add_corners(lengths, at, most);
  PrefixSituation situation{
      .mode = mode, .is_copy = true, .most_tokens = most, .lengths = {lengths.begin(), lengths.end()}};
  for (const auto& [pack, block, geometry] : all) {
    LayoutStairs& stairs = situation.layouts.emplace_back(LayoutStairs{pack, block, has_knife_edges(geometry), {}, {}});
    for (const std::int64_t length : lengths) {
      std::optional<std::int64_t> hit, edge;
      // Between its own corners a line needs no points.
      const std::int64_t step = stair_tokens(geometry), beside = length % step;
      const bool corner = length == 1 || length == most || beside <= 1 || beside == step - 1;
      if (corner) (is_knife_edge(geometry, length) ? edge : hit) = copy_hit(geometry, length);
      stairs.hits.push_back(hit);
      stairs.hits_on_boundary.push_back(edge);
    }
  }
  return situation;
}

/// Hits where only the first tokens of a cached prompt are shared.
PrefixSituation shared_starts(const PlotInputs& inputs, CacheMode mode, std::int64_t cached) {
  const std::vector<PlannedStairs> all = layouts_in_mode(inputs, mode);
  std::vector<std::set<std::int64_t>> corners;
  std::set<std::int64_t> lengths;
  for (const PlannedStairs& layout : all) {
    corners.push_back({1, cached});
    const std::int64_t drop = layout.geometry.drafter_drops_block ? layout.geometry.block_size_tokens : 0;
    if (can_prefill(layout.geometry))
      for (const std::int64_t at : checkpoint_positions(layout.geometry, cached))
        add_corners(corners.back(), at + drop, cached);
    lengths.insert(corners.back().begin(), corners.back().end());
  }
  PrefixSituation situation{
      .mode = mode, .is_copy = false, .most_tokens = cached, .lengths = {lengths.begin(), lengths.end()}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    LayoutStairs& stairs = situation.layouts.emplace_back(LayoutStairs{all[i].pack, all[i].block, false, {}, {}});
    for (const std::int64_t length : lengths) {
      std::optional<std::int64_t> hit;
      if (corners[i].contains(length)) hit = shared_prefix_hit(all[i].geometry, cached, length);
      stairs.hits.push_back(hit);
    }
  }
  return situation;
}

}  // namespace

bool can_prefill(const CacheGeometry& geometry) {
  return !geometry.rules.blocks->cuts_to_blocks(geometry) ||
         geometry.max_num_batched_tokens >= geometry.block_size_tokens;
}

std::int64_t shared_prefix_hit(const CacheGeometry& geometry, std::int64_t cached_tokens, std::int64_t shared_tokens) {
  if (!geometry.caches_prefixes() || !can_prefill(geometry)) return 0;
  const std::int64_t block = geometry.block_size_tokens;
  const std::int64_t matched =
      std::max<std::int64_t>(0, shared_tokens / block - (geometry.drafter_drops_block ? 1 : 0)) * block;
  if (geometry.state_groups == 0) return matched;
  std::int64_t hit = 0;
  for (const std::int64_t at : checkpoint_positions(geometry, cached_tokens))
    if (at <= matched) hit = at;
  return hit;
}

std::vector<PrefixSituation> prefix_stairs(const PlotInputs& inputs) {
  if (largest_state(inputs.set.plans.front()) == nullptr) return {copies(inputs, inputs.engine.cache_mode)};
  std::vector<PrefixSituation> situations;
  situations.push_back(copies(inputs, CacheMode::align));
  if (inputs.engine.rules->has_mode_all) situations.push_back(copies(inputs, CacheMode::all));
  situations.push_back(shared_starts(inputs, CacheMode::align, longest_length(inputs.set)));
  return situations;
}

}  // namespace hybridkv
