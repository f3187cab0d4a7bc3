#include "ask/memory_curves.h"

#include <algorithm>
#include <cmath>

#include "ask/bound_order.h"
#include "ask/layout_bound.h"
#include "ask/replay_curves.h"
#include "ask/simulate_request.h"
#include "base/error.h"
#include "planner/plan.h"
#include "simulator/plan_geometry.h"
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
  set_memory(scenario.engine, memory_bytes);
  scenario.limits = inputs.limits;
  scenario.simulate = inputs.simulate;
  return scenario;
}

/// The engine's own, and others where the cache can be ordered by them.
std::vector<EvictionPolicy> policies_of(const PlotInputs& inputs) {
  const CachePlan& plan = inputs.set.plans.front();
  require_prefixes(plan);
  const CacheGeometry geometry = replayed_cache(inputs, plan);
  validate(geometry);
  if (!ranks_prefixes(geometry) || geometry.host) return {EvictionPolicy::lru};
  return {EvictionPolicy::lru, EvictionPolicy::time_to_live, EvictionPolicy::worth};
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
  std::vector<const Scenario*> planned;
  SweepSpec sweep;
  for (const std::int64_t bytes : curves.memory_bytes) scenarios.push_back(scenario_at(inputs, bytes));
  for (const Scenario& scenario : scenarios) {
    try {
      const CachePlan plan = make_plan(scenario.model, scenario.engine, scenario.limits);
      CacheGeometry geometry = with_settings(geometry_of(plan, scenario.engine), scenario.simulate, plan);
      for (const EvictionPolicy policy : curves.policies) {
        geometry.scheduler.eviction = policy;
        sweep.simulations.push_back({.geometry = geometry, .driver = inputs.simulate.driver});
      }
      planned.push_back(&scenario);
    } catch (const SpecError&) {
      if (scenario.engine.memory_bytes >= inputs.engine.memory_bytes) throw;
      planned.push_back(nullptr);  // too little for one request
    }
  }
  SweepResult result = run_sweep(*open_trace(trace), sweep);
  curves.found.resize(curves.policies.size());
  auto next = result.stats.begin();
  for (const Scenario* scenario : planned)
    for (auto& of_policy : curves.found) of_policy.push_back(scenario ? std::optional(*next++) : std::nullopt);
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
