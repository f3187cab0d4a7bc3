#include "ask/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ask/compare_replay.h"
#include "base/checked.h"
#include "base/error.h"
#include "planner/demand.h"
#include "planner/plan.h"
#include "search/hit_ceiling.h"
#include "search/offline_schedule.h"
#include "simulator/trace_spec.h"

namespace hybridkv {

namespace {

/// Sizes of a layout by what is kept.
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
    if (spec.attention && spec.attention->window_tokens == 0)
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

/// What a request takes for itself while it runs.
RunningBytes running_of(const CachePlan& plan, const LayoutSizes& sizes, std::int64_t tokens) {
  const Demand demand = request_demand(plan, tokens);
  RunningBytes bytes;
  for (std::size_t arena = 0; arena < demand.ids.size(); ++arena) {
    const std::int64_t of_arena = Checked(demand.ids[arena]) * plan.arenas[arena].bytes_per_id;
    (sizes.memory.state_bytes > 0 && sizes.holds_states[arena] ? bytes.states : bytes.tokens) += of_arena;
  }
  return bytes;
}

/// Of the longest length, at which requests are refused.
LimitsSpec longest_of(const LimitsSpec& limits) {
  LimitsSpec one = limits;
  one.max_model_lens = {*std::max_element(limits.max_model_lens.begin(), limits.max_model_lens.end())};
  return one;
}

/// Largest whole number of tokens that a real bound allows; hits are multiples of a unit.
std::int64_t whole_tokens(double bound, std::int64_t unit) {
  constexpr double rounding = 1e-9;  // of a sum of doubles over a trace, far above what it can be off by
  const double units = std::floor(bound * (1 + rounding) / static_cast<double>(unit));
  return static_cast<std::int64_t>(units) * unit;
}

void bound(BoundAnswer& answer, const Scenario& scenario) {
  const CachePlan plan = make_plan(scenario.model, scenario.engine, longest_of(scenario.limits), scenario.workspace,
                                   PlanDetail::numbers);
  answer.evidence = evidence_of(plan);
  if (!plan.prefix.cacheable || plan.prefix.match_unit_tokens == 0)
    throw SpecError("engine.cache_mode", "this cache finds no prefix again, whatever the policy; take mode align");
  const std::string_view engine = rules_of(plan.release).title;
  if (plan.rows)
    throw SpecError("engine.release", fmt::format("{} keeps the states of prompts on the host, beside this memory, of "
                                                  "which the bound is", engine));
  answer.unit_tokens = plan.prefix.match_unit_tokens;
  const LayoutSizes sizes = sizes_of(plan, answer.unit_tokens);
  answer.unit_bytes = sizes.cache.unit_bytes;
  answer.state_bytes = sizes.cache.state_bytes;
  answer.memory_bytes = sizes.cache.memory_bytes;
  const ReplayedSetting replayed = replay_setting(scenario);
  answer.found_tokens = replayed.hit_tokens;
  answer.token_exact_tokens = replayed.token_exact_hit_tokens;
  ReusePaths paths(answer.unit_tokens, plan.capacity.front().max_model_len);
  TraceBatch batch;
  for (const auto trace = open_trace(scenario.simulate.trace); trace->next(batch);) paths.consume(batch);
  answer.requests = paths.num_requests();
  answer.prompt_tokens = paths.all_prompt_tokens();
  const std::vector<double> free_of_charge(static_cast<std::size_t>(std::max<std::int64_t>(0, answer.requests - 1)), 0);
  answer.endless_tokens = whole_tokens(hit_bound(paths, sizes.cache, free_of_charge), answer.unit_tokens);
  const HitCeiling ceiling = hit_ceiling(paths, sizes.cache);
  answer.upper_tokens = whole_tokens(ceiling.tokens, answer.unit_tokens);
  answer.evaluations = ceiling.evaluations;
  answer.feasible_tokens =
      offline_schedule(paths, sizes.cache, ceiling.price, sizes.memory, [&](std::int64_t request) {
        return running_of(plan, sizes, paths.prompt_tokens(request));
      }).tokens;
}

}  // namespace

std::vector<BoundAnswer> bounds(const std::vector<CompareSetting>& settings,
                                const std::function<void(int done, int total)>& on_progress) {
  std::vector<BoundAnswer> answers;
  for (const CompareSetting& setting : settings) {
    if (on_progress) on_progress(static_cast<int>(answers.size()), static_cast<int>(settings.size()));
    BoundAnswer& answer = answers.emplace_back(BoundAnswer{.name = setting.name});
    try {
      bound(answer, setting.scenario);
    } catch (const SpecError& error) {
      const std::string text = located(error, setting.scenario).what();
      answer.refused = text.substr(0, text.find('\n'));
      if (settings.size() == 1) throw located(error, setting.scenario);
    }
  }
  if (std::all_of(answers.begin(), answers.end(), [](const BoundAnswer& one) { return !one.refused.empty(); }))
    throw InputError(fmt::format("no layout has a bound; of {}: {}", answers.front().name, answers.front().refused));
  return answers;
}

}  // namespace hybridkv
