#include "ask/replay/layout_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "ask/replay/simulate_request.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/parallel.h"
#include "planner/demand.h"
#include "planner/engine_rules.h"
#include "planner/plan.h"
#include "search/hit_ceiling.h"
#include "search/offline_schedule.h"
#include "search/schedule_replay.h"
#include "simulator/blocks/plan_geometry.h"
#include "simulator/trace/trace_spec.h"
#include "simulator/tree/plan_tree.h"

namespace hybridkv {

namespace {

/// How much memory a layout has for what it keeps, and how much each part takes.
struct LayoutSizes {
  CacheSizes cache;
  ScheduleMemory memory;
  std::vector<bool> holds_states;  ///< (arena)
};

std::int64_t entry_id_bytes(const CachePlan& plan, const GroupPlan& group) {
  return Checked(plan.arena_of(group).bytes_per_id) * group.ids_per_entry / group.entries_per_id;
}

/// Tokens that one table entry of full attention stands for.
std::int64_t entry_tokens(const CachePlan& plan, const SpecPlan& spec) {
  return Checked(spec.block_size_tokens) * plan.decode_context_parallel;
}

LayoutSizes sizes_of(const CachePlan& plan, std::int64_t unit) {
  LayoutSizes sizes;
  std::vector<bool> holds_tokens(plan.arenas.size()), holds_states(plan.arenas.size());
  Checked token_bytes = 0, state_bytes = 0;
  for (const GroupPlan& group : plan.groups) {
    if (group.shares_table) continue;
    const SpecPlan& spec = plan.spec_of(group);
    const std::int64_t bytes = entry_id_bytes(plan, group);
    (spec.state ? holds_states : holds_tokens)[group.arena.index()] = true;
    if (spec.state && spec.ring_tokens == 0) state_bytes += bytes;
    // Rounded down: a bound may count too little.
    if (spec.attention && !spec.is_cross() && spec.attention->window_tokens == 0)
      token_bytes += Checked(bytes) * unit / entry_tokens(plan, spec);
  }
  const Demand usable = usable_ids(plan);
  const std::int64_t all = bytes_of(plan, usable);
  sizes.cache = {.memory_bytes = all, .unit_bytes = token_bytes, .state_bytes = state_bytes};
  sizes.memory.token_bytes = all;
  sizes.holds_states = holds_states;
  const bool apart = state_bytes > 0 && std::equal(holds_tokens.begin(), holds_tokens.end(), holds_states.begin(),
                                                   [](bool tokens, bool states) { return tokens != states; });
  if (apart) {
    Checked of_states = 0;
    for (std::size_t arena = 0; arena < usable.ids.size(); ++arena)
      if (holds_states[arena]) of_states += Checked(usable.ids[arena]) * plan.arenas[arena].bytes_per_id;
    sizes.memory = {.token_bytes = all - of_states, .state_bytes = of_states};
  }
  return sizes;
}

/// The memory that a running request takes and that nothing is found in.
RunningBytes running_of(const CachePlan& plan, const LayoutSizes& sizes, std::int64_t tokens) {
  const Demand demand = request_demand(plan, tokens);
  RunningBytes bytes;
  for (std::size_t arena = 0; arena < demand.ids.size(); ++arena) {
    const std::int64_t of_arena = Checked(demand.ids[arena]) * plan.arenas[arena].bytes_per_id;
    (sizes.memory.state_bytes > 0 && sizes.holds_states[arena] ? bytes.states : bytes.tokens) += of_arena;
  }
  return bytes;
}

/// The layout's pools; nothing where a unit of tokens is no whole number of ids in every group.
std::optional<ScheduledPools> pools_of(const CachePlan& plan, std::int64_t unit) {
  ScheduledPools pools;
  pools.usable_ids = usable_ids(plan).ids;
  for (const GroupPlan& group : plan.groups) {
    const SpecPlan& spec = plan.spec_of(group);
    if (group.shares_table || spec.ring_tokens > 0) continue;
    if (group.entries_per_id > 1) return std::nullopt;
    if (spec.state) {
      pools.states.push_back({group.arena.value, group.ids_per_entry});
    } else if (spec.attention && !spec.is_cross() && spec.attention->window_tokens == 0) {
      if (unit % entry_tokens(plan, spec) != 0) return std::nullopt;
      pools.tokens.push_back({group.arena.value, Checked(unit / entry_tokens(plan, spec)) * group.ids_per_entry});
    }
  }
  pools.running = [&plan](std::int64_t tokens) { return request_demand(plan, tokens).ids; };
  return pools;
}

/// The same requests once more, with the ids of the layout: what the schedule finds in them.
std::int64_t replayed_tokens(const ReusePaths& paths, const OfflineSchedule& schedule, const ScheduledPools& pools,
                             const Scenario& scenario, std::int64_t max_model_len) {
  ScheduleReplay replay(paths, schedule, pools, max_model_len);
  TraceBatch batch;
  for (const auto trace = open_trace(scenario.simulate.trace); trace->next(batch);) replay.consume(batch);
  return replay.stats().hit_tokens;
}

/// Tokens of which every hit of the replay is a multiple. The plan's match unit is what the engine says of its blocks;
/// how the replay is set, and what its rules leave out of the index, may make hits end elsewhere.
std::int64_t hit_step_of(const CachePlan& plan, const Scenario& scenario) {
  if (plan.tree_pools) return tree_settings_of(plan, scenario.model, scenario.engine).hit_step();
  if (plan.pool_groups) return plan.prefix.match_unit_tokens;
  const CacheGeometry geometry = with_settings(geometry_of(plan, scenario.engine), scenario.simulate);
  validate(geometry);
  return geometry.resume_step();
}

/// A scenario at one of its lengths; none: the longest.
struct AskedBound {
  const Scenario* scenario = nullptr;
  std::optional<std::int64_t> max_model_len = {};
};

std::vector<std::optional<LayoutBound>> bounds_of(const std::vector<AskedBound>& asked, std::int64_t replicas = 1) {
  std::vector<std::optional<LayoutBound>> bounds(asked.size());
  parallel_for(asked.size(), [&](std::size_t i) {
    const Scenario* scenario = asked[i].scenario;
    if (!scenario || scenario->simulate.driver.kind != DriverKind::one_at_a_time) return;
    try {
      bounds[i] = layout_bound(*scenario, asked[i].max_model_len, replicas);
    } catch (const InputError&) {  // of a cache without one, or of a trace of too many units; the replay says the rest
    }
  });
  return bounds;
}

/// Largest whole number of tokens that a real bound allows; hits are multiples of a unit.
std::int64_t whole_tokens(double bound, std::int64_t unit) {
  constexpr double rounding = 1e-9;  // of a sum of doubles over a trace, far above what it can be off by
  const double units = std::floor(bound * (1 + rounding) / static_cast<double>(unit));
  return static_cast<std::int64_t>(units) * unit;
}

}  // namespace

void require_prefixes(const CachePlan& plan) {
  if (plan.pool_groups && plan.cache_mode != CacheMode::none && !plan.prefix.cacheable)
    throw SpecError("engine.periodic_snapshot_interval",
                    "no snapshot of a state is ever taken, so no prefix is found again, whatever the policy; set it, "
                    "or engine.additional_snapshot_offsets_from_end, or engine.enable_branch_snapshot");
  if (plan.has_cross_attention())
    throw SpecError("model.layers", "no prefix is cached beside an encoder, so there is no hit to bound; take a model "
                                    "without cross attention");
  if (!plan.prefix.cacheable || plan.prefix.match_unit_tokens == 0)
    throw SpecError("engine.cache_mode", "this cache finds no prefix again, whatever the policy; take mode align");
}

LayoutBound layout_bound(const Scenario& scenario, std::optional<std::int64_t> max_model_len,
                         std::int64_t replicas) {
  // At all lengths, as the replay: the longest one decides over memory, whatever length a prompt is refused at.
  const CachePlan plan =
      make_plan(scenario.model, scenario.engine, scenario.limits, scenario.workspace, PlanDetail::numbers);
  require_prefixes(plan);
  if (plan.rows)
    throw SpecError("engine.release",
                    fmt::format("{} keeps the states of prompts on the host, beside this memory, of which the bound is",
                                plan.rules->title));
  LayoutBound bound;
  bound.evidence = evidence_of(plan);
  bound.unit_tokens = hit_step_of(plan, scenario);
  LayoutSizes sizes = sizes_of(plan, bound.unit_tokens);
  bound.unit_bytes = sizes.cache.unit_bytes;
  bound.state_bytes = sizes.cache.state_bytes;
  // What lies on the host was kept too.
  sizes.cache.memory_bytes = Checked(sizes.cache.memory_bytes) + scenario.simulate.host_memory_bytes.value_or(0);
  if (plan.tree_pools) sizes.cache.memory_bytes = Checked(sizes.cache.memory_bytes) + plan.tree_pools->host_bytes();
  if (plan.pool_groups) sizes.cache.memory_bytes = Checked(sizes.cache.memory_bytes) + plan.pool_groups->host.bytes;
  for (std::int64_t* const bytes : {&sizes.cache.memory_bytes, &sizes.memory.token_bytes, &sizes.memory.state_bytes})
    *bytes = Checked(*bytes) * replicas;
  bound.memory_bytes = sizes.cache.memory_bytes;
  const auto& lengths = scenario.limits.max_model_lens;
  const std::int64_t longest = max_model_len.value_or(*std::max_element(lengths.begin(), lengths.end()));
  ReusePaths paths(bound.unit_tokens, longest);
  TraceBatch batch;
  for (const auto trace = open_trace(scenario.simulate.trace); trace->next(batch);) paths.consume(batch);
  bound.requests = paths.num_requests();
  bound.prompt_tokens = paths.all_prompt_tokens();
  const std::vector<double> free_of_charge(static_cast<std::size_t>(std::max<std::int64_t>(0, bound.requests - 1)), 0);
  bound.endless_tokens = whole_tokens(hit_bound(paths, sizes.cache, free_of_charge), bound.unit_tokens);
  const HitCeiling ceiling = hit_ceiling(paths, sizes.cache);
  bound.upper_tokens = whole_tokens(ceiling.tokens, bound.unit_tokens);
  bound.evaluations = ceiling.evaluations;
  const OfflineSchedule schedule =
      offline_schedule(paths, sizes.cache, ceiling.price, sizes.memory, [&](std::int64_t request) {
        return running_of(plan, sizes, paths.prompt_tokens(request));
      });
  bound.scheduled_tokens = schedule.tokens;
  std::optional<ScheduledPools> pools = pools_of(plan, bound.unit_tokens);
  if (pools)
    for (std::int64_t& ids : pools->usable_ids) ids = Checked(ids) * replicas;
  bound.is_replayed = pools.has_value();
  bound.feasible_tokens = pools ? replayed_tokens(paths, schedule, *pools, scenario, longest) : schedule.tokens;
  return bound;
}

std::vector<std::optional<LayoutBound>> layout_bounds(std::span<const Scenario* const> scenarios) {
  std::vector<AskedBound> asked;
  for (const Scenario* scenario : scenarios) asked.push_back({scenario, {}});
  return bounds_of(asked);
}

std::vector<std::optional<LayoutBound>> scenario_bounds(const Scenario& scenario, std::int64_t replicas) {
  if (!scenario.simulate.upper_bounds) return {};
  std::vector<Scenario> packs;
  packs.reserve(scenario.pack_sizes.size());
  std::vector<AskedBound> asked;
  // Without packs its caches differ in their length alone.
  const bool has_packs = takes(*scenario.engine.rules, "attention_pack_size");
  for (const std::int64_t pack : scenario.pack_sizes) {
    if (!has_packs && !packs.empty()) break;
    Scenario& of_pack = packs.emplace_back(scenario);
    of_pack.engine.attention_pack_size = pack;
    of_pack.pack_sizes = {pack};
    for (const std::int64_t length : scenario.limits.max_model_lens) asked.push_back({&of_pack, length});
  }
  return bounds_of(asked, replicas);
}

}  // namespace hybridkv
