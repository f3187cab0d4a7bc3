#include "ask/recommend.h"

#include <fmt/format.h>

#include <algorithm>

#include "ask/foreign_axes.h"
#include "ask/kernels/kernel_fit.h"
#include "ask/replay/bound_order.h"
#include "ask/replay/simulate_request.h"
#include "base/error.h"
#include "engines/engine.h"
#include "planner/plan.h"
#include "search/block_space.h"
#include "search/candidate_runs.h"
#include "simulator/trace/trace_spec.h"

namespace hybridkv {

namespace {

/// Requests of a made-up trace: enough to fill the pools, few enough for hundreds of simulations in seconds.
constexpr std::int64_t default_requests = 2000;

/// The trace of the scenario, a made-up one no longer than a search takes.
TraceSpec searched_trace(const Scenario& scenario) {
  TraceSpec trace = scenario.simulate.trace;
  const bool made_up = trace.file.empty() && trace.prompts.empty();
  if (made_up && !trace.max_requests) trace.max_requests = default_requests;
  return trace;
}

/// The interval that the scenario asks for, or that its release has.
std::optional<std::int64_t> asked_retention(const Scenario& scenario) {
  CacheGeometry cache;
  cache.retention_interval_tokens = scenario.engine.rules->retention_tokens;
  return with_settings(cache, scenario.simulate).retention_interval_tokens;
}

/// Is what settings take of the host weighed?
bool limits_host(const EngineRules& rules) { return axis_of(engine_of(rules), search_axis::cache_rams) != nullptr; }

/// The packs that a search of this engine's settings begins with, where it does not try all.
std::span<const std::int64_t> released_packs(const Engine& engine) {
  const EngineAxis* const packs = axis_of(engine, search_axis::packs);
  return packs ? packs->values : std::span<const std::int64_t>();
}

/// The packs that the scenario says, of an engine of which a search goes beyond one only where that is asked for.
std::vector<std::int64_t> written_packs(const Scenario& scenario) {
  return scenario.packs_given && !released_packs(engine_of(*scenario.engine.rules)).empty()
             ? scenario.pack_sizes
             : std::vector<std::int64_t>();
}

RecommendSpec spec_of(const Scenario& scenario, const RecommendQuestion& question) {
  RecommendSpec spec{.model = scenario.model, .engine = scenario.engine, .limits = scenario.limits};
  if (!question.kernel_blocks.empty()) spec.engine.kernel_block_sizes = question.kernel_blocks;
  const std::vector<std::int64_t>& lengths = scenario.limits.max_model_lens;
  spec.space = question.space;
  if (spec.space.packs.empty()) spec.space.packs = written_packs(scenario);
  spec.at_length = question.at_length.value_or(*std::max_element(lengths.begin(), lengths.end()));
  spec.min_concurrency = question.min_concurrency;
  spec.min_kernel_block = question.min_kernel_block;
  spec.rule.most_given_up = question.give_up_percent / 100;
  spec.search = question.search;
  const SimulateRequest& request = scenario.simulate;
  spec.driver = request.driver;
  spec.scheduler = request.scheduler;
  spec.default_retention = asked_retention(scenario);
  spec.default_match_unit = request.match_unit_tokens;
  if (limits_host(*scenario.engine.rules)) spec.host_memory_bytes = request.host_memory_bytes;
  return spec;
}

RecommendAnswer asked_of(const Scenario& scenario, const RecommendQuestion& question, const RecommendSpec& spec) {
  RecommendAnswer answer;
  answer.model = scenario.model.name;
  answer.engine = spec.engine;
  answer.trace = searched_trace(scenario);
  answer.workload = question.workload.empty() ? describe(answer.trace) : question.workload;
  answer.driver = spec.driver;
  answer.min_concurrency = spec.min_concurrency;
  answer.host_memory_bytes = spec.host_memory_bytes;
  answer.rule = spec.rule;
  return answer;
}

/// The result with the scenario's names for what the simulator refused.
Recommendation with_scenario_names(Recommendation result) {
  for (ImpossibleLayout& impossible : result.impossible) impossible.refusal = scenario_error(impossible.refusal);
  if (result.default_refused) result.default_refused = scenario_error(*result.default_refused);
  return result;
}

std::vector<PlainPack> plain_packs(const Recommendation& result, const RecommendSpec& spec) {
  std::vector<PlainPack> plain;
  const CacheMode mode = result.layout_of(result.pick).mode();
  for (std::size_t i = 0; i < result.candidates.size(); ++i) {
    const Candidate& candidate = result.candidates[i];
    const PlannedLayout& layout = result.layout_of(candidate);
    if (layout.has_blocks() && layout.mode() == mode && layout.block_floor() == spec.engine.block_size_tokens &&
        !candidate.match_unit_tokens && candidate.retention_tokens == retention_in(layout, spec.default_retention))
      plain.push_back({i, std::nullopt});
  }
  const auto pack = [&](const PlainPack& one) { return result.layout_of(one.candidate).pack(); };
  std::stable_sort(plain.begin(), plain.end(),
                   [&](const PlainPack& a, const PlainPack& b) { return pack(a) < pack(b); });
  const auto objectives = [&](std::size_t candidate) { return result.candidates[candidate].objectives; };
  for (PlainPack& one : plain)
    for (const PlainPack& other : plain)
      if (dominates(objectives(other.candidate), objectives(one.candidate)) &&
          (!one.beaten_by ||
           objectives(other.candidate).bytes_per_request < objectives(*one.beaten_by).bytes_per_request))
        one.beaten_by = other.candidate;
  return plain;
}

bool has_only_released_packs(const SearchSpace& space, const Engine& engine) {
  const auto packs = released_packs(engine);
  return !packs.empty() && std::equal(packs.begin(), packs.end(), space.packs.begin(), space.packs.end());
}

ServedPick served_pick(const Recommendation& result, std::size_t candidate, const RecommendSpec& spec) {
  const PlannedLayout& layout = result.layout_of(candidate);
  ServedPick pick{settings_of(layout, result.candidates[candidate]), {}};
  pick.serve = serve_command({spec.model, layout.engine, spec.limits, spec.scheduler, layout.plan, pick.settings});
  return pick;
}

}  // namespace

Evidence evidence_of(const Recommendation& result, const Candidate& candidate) {
  const CachePlan& plan = result.layout_of(candidate).plan;
  const Evidence replayed = candidate.modelled.empty() ? Evidence::run : Evidence::modelled;
  return std::max({engine_of(*plan.rules).replayed, evidence_of(plan), replayed});
}

std::vector<EngineSetting> settings_of(const PlannedLayout& layout, const Candidate& candidate) {
  if (!layout.has_blocks()) return own_settings(layout.engine);
  return block_settings({layout.plan, layout.geometry(), layout.block_floor(), candidate.match_unit_tokens,
                         candidate.retention_tokens});
}

std::vector<std::string> left_out_of_search(const Scenario& scenario) {
  if (!scenario.simulate.host_memory_bytes || limits_host(*scenario.engine.rules)) return {};
  return {"simulate.host_memory is left out: settings are weighed by the pools alone"};
}

Scenario searched_scenario(Scenario scenario) {
  const SimulateRequest none;
  scenario.simulate.host_memory_bytes = none.host_memory_bytes;
  scenario.simulate.host_state_share = none.host_state_share;
  return scenario;
}

Scenario scenario_of(const Scenario& scenario, const RecommendAnswer& answer, std::size_t candidate) {
  Scenario chosen = searched_scenario(scenario);
  const Candidate& choice = answer.result.candidates[candidate];
  const PlannedLayout& layout = answer.result.layout_of(choice);
  chosen.engine = layout.engine;
  chosen.pack_sizes = {layout.pack()};
  chosen.simulate.trace = answer.trace;
  if (!layout.has_blocks()) return chosen;
  chosen.simulate.match_unit_tokens = choice.match_unit_tokens;
  if (choice.retention_tokens == asked_retention(scenario)) return chosen;
  chosen.simulate.retention_interval_tokens = choice.retention_tokens;
  chosen.simulate.keeps_all_checkpoints =
      !choice.retention_tokens && chosen.engine.rules->retention_tokens.has_value();
  return chosen;
}

RecommendAnswer recommend_scenario(const Scenario& scenario, const RecommendQuestion& asked,
                                   const std::function<void(const RecommendProgress&)>& progress) {
  const RecommendQuestion question = question_to(*scenario.engine.rules, asked);
  RecommendSpec spec = spec_of(scenario, question);
  const bool are_packs_open = spec.space.packs.empty();
  RecommendAnswer answer = asked_of(scenario, question, spec);
  spec.open_trace = [&answer] { return open_trace(answer.trace); };
  spec.on_progress = progress;
  if (!question.kernels.empty())
    spec.judge = [&question, &spec](const PlannedLayout& layout) {
      return kernel_fits(question.kernels, make_plan(spec.model, layout.engine, spec.compared_limits()));
    };
  try {
    answer.result = with_scenario_names(recommend(spec));
  } catch (const SpecError& error) {
    throw located(scenario_error(error), scenario);
  }
  const Recommendation& result = answer.result;
  const Candidate& pick = result.candidates[result.pick];
  const PlannedLayout& layout = result.layout_of(pick);
  const Engine& engine = engine_of(*layout.engine.rules);
  answer.pick_evidence = evidence_of(result, pick);
  answer.has_successor = engine.successor != nullptr;
  answer.packs_as_released = has_only_released_packs(result.space, engine);
  answer.plain_packs = plain_packs(result, spec);
  if (are_packs_open && answer.packs_as_released && layout.has_blocks()) answer.builder = builder_offer(spec, result);
  answer.pick = served_pick(result, result.pick, spec);
  if (result.unpacked_pick) answer.unpacked_pick = served_pick(result, *result.unpacked_pick, spec);
  if (!answer.trace.file.empty() && layout.cache) answer.pick_losses = candidate_losses(spec, layout, pick);
  const Scenario picked = scenario_of(scenario, answer, result.pick);
  const Scenario* const bounded = &picked;
  answer.pick_bound = layout_bounds({&bounded, 1}).front();
  if (answer.pick_bound) add_found(*answer.pick_bound, {pick.taken_prompt_tokens, pick.hit_tokens});
  return answer;
}

}  // namespace hybridkv
