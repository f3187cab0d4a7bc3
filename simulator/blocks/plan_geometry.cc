#include "simulator/blocks/plan_geometry.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "attention/key_mask.h"
#include "base/checked.h"
#include "base/error.h"
#include "planner/demand.h"
#include "planner/evidence.h"
#include "planner/prefix.h"
#include "planner/state_settings.h"

namespace hybridkv {

namespace {

/// All states are kept on one grid.
void set_state_block(CacheGeometry& geometry, const SpecPlan& spec) {
  expects(geometry.state_block_size_tokens.value_or(spec.block_size_tokens) == spec.block_size_tokens,
          "every strategy keeps all states on one grid");
  geometry.state_block_size_tokens = spec.block_size_tokens;
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
  geometry.mode = plan.keeps_every_boundary() ? CacheMode::all : plan.cache_mode;
  geometry.speculative_tokens = plan.speculative_tokens;
  geometry.replays_drafts = plan.draft_states() < plan.speculative_tokens;
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

/// A state is exported where every recurrent group can, at the alignments that the backends of states declare.
/// Source: vLLM 0.33, declarations of the state backends.
void set_exports(PrefixRules& rules, const CachePlan& plan) {
  constexpr std::int64_t of_kda = 16;
  std::optional<std::int64_t> least_blocks;
  for (const SpecPlan& spec : plan.specs) {
    if (!spec.state || spec.ring_tokens > 0) continue;
    least_blocks = std::min(least_blocks.value_or(1), spec.checkpoint_blocks);
    if (spec.checkpoint_blocks == 0) continue;
    if (spec.kind == "kda") rules.checkpoint_alignment = checked_lcm(rules.checkpoint_alignment, of_kda);
    rules.exports_gdn = rules.exports_gdn || spec.kind == "gdn";
  }
  rules.checkpoint_blocks = least_blocks.value_or(0);
}

// What holds of the engines that a message names as the way out.
bool has_large_pages(const EngineRules& rules) { return rules.strategy == Strategy::two_level; }
bool has_pages(const EngineRules& rules) { return rules.strategy == Strategy::packed_attention; }
bool has_blocks(const EngineRules& rules) { return has_pages(rules) || rules.strategy == Strategy::pool_groups; }
bool finds_windows(const EngineRules& rules) { return rules.match_units; }

}  // namespace

PrefixRules prefix_rules_of(const CachePlan& plan) {
  PrefixRules rules;
  rules.engine = plan.rules;
  rules.blocks = &block_rules_of(*plan.rules);
  if (!plan.rules->match_units) return rules;
  if (plan.strategy == Strategy::two_level)
    throw SpecError("engine.strategy",
                    fmt::format("{} finds prefixes in pools of blocks alone, not in large pages that groups share; "
                                "take engine.release {}, or another engine.strategy", plan.rules->title,
                                releases_with(has_large_pages)));
  rules.lookahead_tokens = plan.lookahead_tokens;
  rules.context_ranks = plan.decode_context_parallel;
  set_exports(rules, plan);
  return rules;
}

namespace {

/// How the prefix cache and the scheduler of the plan's release work, whatever the layout.
void set_rules(CacheGeometry& geometry, const CachePlan& plan, const EngineSpec& engine) {
  geometry.has_encoder = geometry.whole_prompts = plan.has_cross_attention();
  geometry.modelled_layout = !was_run(evidence_of(plan));
  geometry.max_num_batched_tokens = plan.max_num_batched_tokens;
  geometry.retention_interval_tokens = plan.rules->retention_tokens;
  for (const CapacityPlan& capacity : plan.capacity)
    geometry.scheduler.max_model_len = std::max(geometry.scheduler.max_model_len.value_or(1), capacity.max_model_len);
  geometry.in_flight_tokens = Checked(plan.max_num_batched_tokens) * plan.concurrent_batches;
  geometry.rules = prefix_rules_of(plan);
  geometry.rules.exact_junctions = engine.own[state_key::enable_mamba_shared_prefix_checkpoint];
  geometry.drafter_drops_block = !plan.rules->drafts_look_ahead && drafter_drops_block(engine);
  if (plan.rules->match_units && plan.prefix.match_error.empty())
    geometry.match_unit_tokens = engine.prefix_match_unit_tokens;
}

/// Sorts the groups of a plan: prefixes are found again in some of them, and of the others a request only holds blocks.
class GroupsOf {
 public:
  GroupsOf(const CachePlan& plan, CacheGeometry& geometry)
      : plan_(plan),
        geometry_(geometry),
        // Where prefixes are found in windows, a window is a group of its own and its blocks are given back like those
        // of others.
        finds_windows_(geometry.rules.blocks->retains_windows() || plan.strategy == Strategy::two_level) {}

  void add(std::size_t number) {
    const GroupPlan& group = plan_.groups[number];
    const SpecPlan& spec = plan_.spec_of(group);
    marked_ = marked_ || group.drafts;
    if (group.shares_table) {  // it is found again together with the group before it
      if (!spec.state) drafters_.back() = drafters_.back() || group.drafts;
    } else if (spec.ring_tokens > 0 || spec.is_cross()) {
      hold(group, spec);
    } else if (spec.state) {
      add_group(geometry_, plan_, group);
      found_.states.resize(static_cast<std::size_t>(geometry_.state_groups), number);
      // In mode none a recurrent block is the whole request; it says nothing of the attention block.
      if (plan_.cache_mode != CacheMode::none) set_state_block(geometry_, spec);
    } else if (spec.attention->window_tokens == 0 || finds_windows_) {
      add_attention(group, *spec.attention, spec.block_size_tokens);
      found_.attention.push_back(number);
    } else {
      hold(group, spec);
    }
  }

  const FoundGroups& found() const { return found_; }

  void finish() {
    if (windows_) geometry_.attention_masks = std::move(masks_);
    if (marked_) geometry_.rules.attention_drafters = std::move(drafters_);
    geometry_.rules.state_drafters = geometry_.rules.lookahead_tokens > 0 && !marked_;
    geometry_.extra_blocks_per_request = plan_.extra_ids_per_request();
    set_attention_block(geometry_, plan_);
  }

 private:
  /// Hidden states too are found again block by block.
  void add_attention(const GroupPlan& group, const AttentionGeometry& attention, std::int64_t block) {
    add_group(geometry_, plan_, group);
    masks_.push_back(key_mask(attention.kind, attention.window_tokens));
    drafters_.push_back(group.drafts);
    windows_ = windows_ || attention.window_tokens > 0;
    geometry_.attention_block_sizes.push_back(Checked(block) * plan_.decode_context_parallel);
  }

  void hold(const GroupPlan& group, const SpecPlan& spec) {
    geometry_.held_groups.push_back(
        {.arena = group.arena.value, .tables = group.ids_per_entry, .rule = table_rule(plan_, spec)});
  }

  const CachePlan& plan_;
  CacheGeometry& geometry_;
  FoundGroups found_;
  bool finds_windows_;
  std::vector<KeyMask> masks_;
  std::vector<bool> drafters_;
  bool windows_ = false, marked_ = false;
};

/// Refuses plans that no replay of pools of blocks can take.
void refuse_other_caches(const CachePlan& plan) {
  const std::string_view title = plan.rules->title;
  if (plan.tree_pools)
    throw SpecError("engine.release",
                    fmt::format("{} finds prefixes in a radix tree, which `hybridkv simulate` and `hybridkv compare` "
                                "replay; here take {}, which have blocks", title, releases_with(has_pages)));
  if (plan.rows)
    throw SpecError("engine.release",
                    fmt::format("{} finds prefixes by slot, which `hybridkv simulate` and `hybridkv compare` replay; "
                                "here take {}, which have blocks", title, releases_with(has_blocks)));
  if (plan.strategy != Strategy::two_level) return;
  if (const std::int64_t extras = plan.extra_ids_per_request(); extras > 0)
    throw SpecError("engine.strategy",
                    fmt::format("{} ids of every request hold what lies beside the layers, and requests that take "
                                "large pages for it do not run here; take another engine.strategy", extras));
}

/// The groups of a plan, in a geometry that has its arenas and rules. The plan and the geometry outlive them.
GroupsOf groups_in(CacheGeometry& geometry, const CachePlan& plan, const EngineSpec& engine) {
  refuse_other_caches(plan);
  geometry = arenas_of(plan);
  set_rules(geometry, plan, engine);
  GroupsOf groups(plan, geometry);
  for (std::size_t number = 0; number < plan.groups.size(); ++number) groups.add(number);
  return groups;
}

}  // namespace

FoundGroups found_groups(const CachePlan& plan, const EngineSpec& engine) {
  CacheGeometry geometry;
  return groups_in(geometry, plan, engine).found();
}

CacheGeometry geometry_of(const CachePlan& plan, const EngineSpec& engine) {
  CacheGeometry geometry;
  groups_in(geometry, plan, engine).finish();
  if (geometry.attention_groups + geometry.state_groups == 0)
    throw SpecError("engine.release",
                    fmt::format("blocks of windows and chunks are not found again by the rules of {} here, and this "
                                "model keeps nothing else; {} replays windows",
                                plan.rules->title, releases_with(finds_windows)));
  return geometry;
}

}  // namespace hybridkv
