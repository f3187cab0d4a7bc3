#include "simulator/plan_geometry.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "attention/key_mask.h"
#include "base/checked.h"
#include "base/error.h"
#include "planner/demand.h"
#include "planner/prefix.h"

namespace hybridkv {

namespace {

constexpr std::int64_t longest = std::int64_t{1} << 40;

/// All states are kept on one grid.
void set_state_block(CacheGeometry& geometry, const SpecPlan& spec) {
  expects(geometry.state_block_size_tokens.value_or(spec.block_size_tokens) == spec.block_size_tokens,
          "every strategy keeps all states on one grid");
  geometry.state_block_size_tokens = spec.block_size_tokens;
}

/// A window in an arena of its own holds as many blocks as a long request needs, and so bounds how many run.
void limit_running(CacheGeometry& geometry, const ArenaPlan& arena, std::int64_t ids) {
  const std::int64_t requests = std::max<std::int64_t>(1, arena.usable_ids() / ids);
  geometry.most_requests = std::min(geometry.most_requests.value_or(requests), requests);
}

/// One number where all groups have the same block, which is the common case and the fast one.
void set_attention_block(CacheGeometry& geometry, const CachePlan& plan) {
  auto& sizes = geometry.attention_block_sizes;
  if (!sizes.empty())
    geometry.block_size_tokens = sizes.front();
  else
    geometry.block_size_tokens = geometry.state_block_size_tokens.value_or(plan.specs.front().block_size_tokens);
  if (std::adjacent_find(sizes.begin(), sizes.end(), std::not_equal_to<>()) == sizes.end()) sizes.clear();
  if (geometry.state_block_size_tokens == geometry.block_size_tokens) geometry.state_block_size_tokens.reset();
}

}  // namespace

CacheGeometry arenas_of(const CachePlan& plan) {
  CacheGeometry geometry;
  geometry.attention_groups = 0;
  geometry.mode = plan.cache_mode;
  geometry.speculative_tokens = plan.speculative_tokens;
  if (plan.strategy == Strategy::two_level) return geometry;  // an arena a group, see add_group
  geometry.num_blocks = plan.arenas.front().num_ids;
  for (std::size_t arena = 1; arena < plan.arenas.size(); ++arena)
    geometry.more_arenas.push_back(plan.arenas[arena].num_ids);
  return geometry;
}

namespace {

/// The blocks of a group that takes whole large pages are its own: an arena of them.
std::int64_t add_arena_of_places(CacheGeometry& geometry, const CachePlan& plan, const GroupPlan& group) {
  const std::int64_t places = plan.num_places(group);
  if (geometry.blocks_per_large_page.empty())
    geometry.num_blocks = places;
  else
    geometry.more_arenas.push_back(places);
  geometry.blocks_per_large_page.push_back(group.entries_per_id);
  return geometry.num_arenas() - 1;
}

}  // namespace

void add_group(CacheGeometry& geometry, const CachePlan& plan, const GroupPlan& group) {
  const bool state = plan.spec_of(group).state.has_value();
  const std::int64_t count = state ? group.ids_per_entry : 1;
  (state ? geometry.state_groups : geometry.attention_groups) += count;
  if (plan.is_uniform()) return;
  const std::int64_t arena =
      plan.strategy == Strategy::two_level ? add_arena_of_places(geometry, plan, group) : group.arena.value;
  auto& arenas = state ? geometry.state_arenas : geometry.attention_arenas;
  arenas.insert(arenas.end(), static_cast<std::size_t>(count), arena);
}

namespace {

/// Tokens between the start of a chunk and a state that it exports are a multiple of it.
/// Source: vLLM 0.33, declarations of the state backends.
std::int64_t export_alignment(const CachePlan& plan, const EngineSpec& engine) {
  constexpr std::int64_t of_kda = 16, of_gdn_with_unit = 64;
  std::int64_t alignment = 1;
  for (const SpecPlan& spec : plan.specs) {
    if (!spec.state || spec.checkpoint_blocks == 0) continue;
    std::int64_t of_spec = 1;
    if (spec.kind == "kda") of_spec = of_kda;
    if (spec.kind == "gdn")
      of_spec = engine.prefix_match_unit_tokens ? checked_lcm(*engine.prefix_match_unit_tokens, of_gdn_with_unit)
                                                : spec.block_size_tokens;
    alignment = checked_lcm(alignment, of_spec);
  }
  return alignment;
}

/// A cache of a release with chain hashes: every table with its block, its window and whether a drafter reads it.
CacheGeometry geometry_of_tables(const CachePlan& plan, const EngineSpec& engine) {
  const ReleaseRules& rules = rules_of(plan.release);
  CacheGeometry geometry = arenas_of(plan);
  geometry.rules.engine = plan.release;
  geometry.max_num_batched_tokens = plan.max_num_batched_tokens;
  geometry.rules.in_flight_tokens = Checked(plan.max_num_batched_tokens) * plan.concurrent_batches;
  geometry.retention_interval_tokens = rules.retention_tokens;
  if (plan.prefix.match_error.empty()) geometry.match_unit_tokens = engine.prefix_match_unit_tokens;
  const bool drafter = engine.speculative_tokens > 0 && (engine.mtp_layers > 0 || engine.draft);
  if (drafter) geometry.rules.lookahead_tokens = engine.mtp_layers > 1 ? engine.speculative_tokens : 1;
  geometry.rules.checkpoint_alignment = export_alignment(plan, engine);
  std::vector<KeyMask> masks;
  std::vector<bool> drafters;
  bool windows = false, marked = false;
  // A state is exported only where every recurrent group can.
  std::optional<std::int64_t> least_checkpoint_blocks;
  Checked extras = plan.extra_ids_per_request();
  for (const GroupPlan& group : plan.groups) {
    const SpecPlan& spec = plan.spec_of(group);
    if (group.shares_table) {
      if (!spec.state) drafters.back() = drafters.back() || group.drafts;
      marked = marked || group.drafts;
      continue;
    }
    if (spec.ring_tokens > 0) {
      extras += group_ids(plan, group, longest);
      continue;
    }
    add_group(geometry, plan, group);
    marked = marked || group.drafts;
    if (spec.state) {
      least_checkpoint_blocks = std::min(least_checkpoint_blocks.value_or(1), spec.checkpoint_blocks);
      if (plan.cache_mode != CacheMode::none) set_state_block(geometry, spec);
      continue;
    }
    masks.push_back(key_mask(spec.attention->kind, spec.attention->window_tokens));
    drafters.push_back(group.drafts);
    windows = windows || spec.attention->window_tokens > 0;
    geometry.attention_block_sizes.push_back(Checked(spec.block_size_tokens) * plan.decode_context_parallel);
  }
  if (windows) geometry.attention_masks = std::move(masks);
  if (marked) geometry.rules.attention_drafters = std::move(drafters);
  geometry.rules.checkpoint_blocks = least_checkpoint_blocks.value_or(0);
  geometry.rules.state_drafters = drafter && !marked;
  geometry.extra_blocks_per_request = extras;
  set_attention_block(geometry, plan);
  return geometry;
}

}  // namespace

CacheGeometry geometry_of(const CachePlan& plan, const EngineSpec& engine) {
  if (plan.radix)
    throw SpecError("engine.release",
                    fmt::format("{} finds prefixes in a radix tree, which `hybridkv simulate` and `hybridkv compare` "
                                "replay; here take vllm-0.33 or vllm-2026-06, which have blocks",
                                rules_of(plan.release).title));
  if (plan.rows)
    throw SpecError("engine.release",
                    fmt::format("{} finds prefixes by slot, which `hybridkv compare` replays; here take tensorrt-llm, "
                                "vllm-0.33 or vllm-2026-06, which have blocks", rules_of(plan.release).title));
  if (plan.cache_order) {
    CacheGeometry geometry = geometry_of_tables(plan, engine);
    for (const CapacityPlan& capacity : plan.capacity)
      geometry.scheduler.max_model_len = std::max(geometry.scheduler.max_model_len.value_or(1), capacity.max_model_len);
    return geometry;
  }
  CacheGeometry geometry = arenas_of(plan);
  geometry.rules.engine = plan.release;
  geometry.drafter_drops_block = drafter_drops_block(engine);
  geometry.max_num_batched_tokens = plan.max_num_batched_tokens;
  for (const CapacityPlan& capacity : plan.capacity)
    geometry.scheduler.max_model_len = std::max(geometry.scheduler.max_model_len.value_or(1), capacity.max_model_len);
  Checked extras = plan.extra_ids_per_request();
  if (plan.strategy == Strategy::two_level && extras > 0)
    throw SpecError("engine.strategy",
                    fmt::format("{} ids of every request hold what lies beside the layers, and requests that take "
                                "large pages for it do not run here; take another engine.strategy",
                                std::int64_t{extras}));
  std::vector<KeyMask> masks;
  bool windows = false;
  for (const GroupPlan& group : plan.groups) {
    const SpecPlan& spec = plan.spec_of(group);
    if (group.shares_table) continue;  // found again with the group before it
    if (plan.strategy == Strategy::two_level && spec.attention) {
      // The blocks of a window are a group of their own, and go back as those of others.
      masks.push_back(key_mask(spec.attention->kind, spec.attention->window_tokens));
      windows = windows || spec.attention->window_tokens > 0;
      add_group(geometry, plan, group);
      geometry.attention_block_sizes.push_back(spec.block_size_tokens);
      continue;
    }
    if (spec.state) {
      add_group(geometry, plan, group);
      // In mode none a recurrent block is the whole request; it says nothing of the attention block.
      if (plan.cache_mode != CacheMode::none) set_state_block(geometry, spec);
    } else if (spec.attention->window_tokens == 0) {
      // Hidden states are found again block by block, as attention is.
      add_group(geometry, plan, group);
      geometry.attention_block_sizes.push_back(spec.block_size_tokens);
    } else if (group.arena.value == 0) {
      extras += group_ids(plan, group, longest);
    } else {
      limit_running(geometry, plan.arena_of(group), group_ids(plan, group, longest));
    }
  }
  if (windows) geometry.attention_masks = std::move(masks);
  geometry.extra_blocks_per_request = extras;
  set_attention_block(geometry, plan);
  return geometry;
}

}  // namespace hybridkv
