#include "ask/plot/memory_curves.h"

#include <algorithm>
#include <cmath>

#include "ask/plot/replay_curves.h"
#include "ask/replay/bound_order.h"
#include "ask/replay/layout_bound.h"
#include "ask/replay/planned_caches.h"
#include "base/error.h"
#include "engines/engine.h"
#include "planner/plan.h"
#include "simulator/sweep.h"

namespace hybridkv {

namespace {

constexpr std::int64_t most_made_up_requests = 3000;

/// The scenario of one plan with that much memory.
Scenario scenario_at(const PlotInputs& inputs, std::int64_t memory_bytes) {
  Scenario scenario;
  scenario.model = inputs.model;
  scenario.engine = inputs.engine;
  scenario.engine.attention_pack_size = inputs.set.plans.front().attention_pack_size;
  scenario.pack_sizes = {scenario.engine.attention_pack_size};
  set_memory(scenario.engine, memory_bytes);
  scenario.limits = inputs.limits;
  scenario.simulate = inputs.simulate;
  return scenario;
}

/// The policies to draw: the engine's own, and others where these can order what the cache evicts.
std::vector<EvictionPolicy> policies_of(const PlotInputs& inputs) {
  const CachePlan& plan = inputs.set.plans.front();
  require_prefixes(plan);
  if (!engine_of(*inputs.engine.rules).abilities->policies) return {EvictionPolicy::lru};
  const CacheGeometry geometry = replayed_cache(inputs, plan);
  validate(geometry);
  if (!ranks_prefixes(geometry) || geometry.host) return {EvictionPolicy::lru};
  return {EvictionPolicy::lru, EvictionPolicy::time_to_live, EvictionPolicy::worth};
}

/// (memory, policy) What is found; nothing where that much memory cannot be planned.
using FoundByMemory = std::vector<std::optional<std::vector<ReplayCounts>>>;

/// Calls `find`. An error is no fault where the memory is below that of the scenario: there it may be too little for a
/// request.
template <class Find>
void attempt(const Scenario& scenario, std::int64_t asked_memory, Find&& find) {
  try {
    find();
  } catch (const SpecError&) {
    if (scenario.engine.memory_bytes >= asked_memory) throw;
  }
}

/// All policies at all memories in one replay of the trace.
FoundByMemory found_by_memory(const PlotInputs& inputs, const std::vector<Scenario>& scenarios,
                              const std::vector<EvictionPolicy>& policies) {
  SweepSpec sweep;
  std::vector<bool> planned(scenarios.size());
  for (std::size_t at = 0; at < scenarios.size(); ++at)
    attempt(scenarios[at], inputs.engine.memory_bytes, [&] {
      const Scenario& scenario = scenarios[at];
      AnyCache cache = cache_of(make_plan(scenario.model, scenario.engine, scenario.limits), scenario);
      for (const EvictionPolicy policy : policies) {
        if (auto* const geometry = std::get_if<CacheGeometry>(&cache)) geometry->scheduler.eviction = policy;
        sweep.simulations.push_back({.cache = cache, .driver = inputs.simulate.driver});
      }
      planned[at] = true;
    });
  const SweepResult result = run_sweep(*open_trace(inputs.simulate.trace), sweep);
  FoundByMemory found(scenarios.size());
  auto next = result.caches.begin();
  for (std::size_t at = 0; at < scenarios.size(); ++at)
    if (planned[at])
      for (std::vector<ReplayCounts>& of_policy = found[at].emplace(); of_policy.size() < policies.size(); ++next)
        of_policy.push_back(next->counts());
  return found;
}

}  // namespace

MemoryCurves memory_curves(const PlotInputs& asked) {
  PlotInputs inputs = asked;
  // Enough of a made-up trace for the shape of a curve.
  TraceSpec& trace = inputs.simulate.trace;
  if (trace.file.empty() && trace.prompts.empty())
    trace.max_requests = std::min(trace.max_requests.value_or(most_made_up_requests), most_made_up_requests);
  if (inputs.engine.num_blocks)
    throw InputError("engine.num_blocks stands for the memory, over which hit rates are drawn; give engine.memory");
  MemoryCurves curves{.trace = trace_text(trace),
                      .memory_bytes = {},
                      .policies = policies_of(inputs),
                      .found = {},
                      .upper = {},
                      .feasible = {}};
  const auto memory = static_cast<double>(inputs.engine.memory_bytes);
  for (int i = 0; i < curve_points; ++i) {
    const double part = static_cast<double>(i) / (curve_points - 1);
    curves.memory_bytes.push_back(std::llround(
        memory * least_curve_memory * std::pow(most_curve_memory / least_curve_memory, part)));
  }
  std::vector<Scenario> scenarios;
  for (const std::int64_t bytes : curves.memory_bytes) scenarios.push_back(scenario_at(inputs, bytes));
  const FoundByMemory found = found_by_memory(inputs, scenarios, curves.policies);
  std::vector<const Scenario*> planned;
  curves.found.resize(curves.policies.size());
  for (std::size_t at = 0; at < scenarios.size(); ++at) {
    planned.push_back(found[at] ? &scenarios[at] : nullptr);
    for (std::size_t i = 0; i < curves.policies.size(); ++i)
      curves.found[i].push_back(found[at] ? std::optional((*found[at])[i]) : std::nullopt);
  }
  auto bounds = layout_bounds(planned);
  for (std::size_t at = 0; at < bounds.size(); ++at) {
    auto& bound = bounds[at];
    for (const auto& of_policy : curves.found)
      if (bound && of_policy[at]) add_found(*bound, {of_policy[at]->taken_prompt_tokens, of_policy[at]->hit_tokens});
    curves.upper.push_back(bound ? std::optional(bound->rate(bound->upper_tokens)) : std::nullopt);
    curves.feasible.push_back(bound ? std::optional(bound->rate(bound->feasible_tokens)) : std::nullopt);
  }
  return curves;
}

}  // namespace hybridkv
