#include "ask/plot/engine_curves.h"

#include <algorithm>

#include "ask/plot/replay_curves.h"
#include "ask/replay/layout_bound.h"
#include "ask/replay/replay_settings.h"
#include "ask/replay/simulate_request.h"
#include "base/error.h"
#include "base/first_line.h"
#include "engines/engine.h"
#include "planner/plan.h"
#include "scenarios/read.h"

namespace hybridkv {

namespace {

/// One request of the longest length, and nothing else.
LimitsSpec one_request(const LimitsSpec& limits) {
  return {.max_model_lens = {*std::max_element(limits.max_model_lens.begin(), limits.max_model_lens.end())},
          .longest_prompt_tokens = limits.longest_prompt_tokens,
          .load_tokens = {}};
}

CachePlan planned(const Scenario& scenario) {
  return make_plan(scenario.model, scenario.engine, one_request(scenario.limits), scenario.workspace,
                   PlanDetail::numbers);
}

/// How far the arrangement and the replay are confirmed: the evidence of the weaker of the two. A scenario that cannot
/// be planned has no curve, so its evidence does not matter.
Evidence evidence_at(const Scenario& scenario) {
  try {
    return std::max(evidence_of(planned(scenario)), engine_of(*scenario.engine.rules).replayed);
  } catch (const SpecError&) {
    return Evidence::run;
  }
}

Scenario with_memory(Scenario scenario, std::int64_t memory_bytes) {
  set_memory(scenario.engine, memory_bytes);
  return scenario;
}

/// What one engine finds; nothing where it cannot be planned, or takes no request.
std::optional<ReplayedFigures> found_of(const Scenario& scenario) {
  try {
    planned(scenario);  // an error in the trace is no gap of a curve
    const ReplayedIndex replayed = replay_setting(scenario);
    return replayed.counts().ended() == 0 ? std::nullopt : std::optional(figures_of(replayed));
  } catch (const SpecError&) {
    return std::nullopt;
  }
}

}  // namespace

EngineRequests engine_requests(const std::vector<CompareSetting>& settings) {
  EngineRequests requests{.model = settings.front().scenario.model.name};
  for (const CompareSetting& setting : settings) {
    EngineRequest& engine = requests.engines.emplace_back(EngineRequest{.name = setting.name});
    try {
      const CachePlan plan = planned(setting.scenario);
      const CapacityPlan& capacity = plan.capacity.front();
      engine.evidence = evidence_of(plan);
      engine.parts = plan.waste.at_load;
      engine.bytes = capacity.bytes_per_request;
      requests.tokens = capacity.max_model_len;
      // Element types are the engine's own; the ideal is that of the smallest.
      requests.ideal_bytes = requests.ideal_bytes == 0
                                 ? capacity.ideal_bytes_per_request
                                 : std::min(requests.ideal_bytes, capacity.ideal_bytes_per_request);
    } catch (const SpecError& error) {
      engine.refused = first_line(located(error, setting.scenario).what());
    }
  }
  return requests;
}

EngineRates engine_rates(const std::vector<CompareSetting>& settings,
                         const std::function<void(int done, int total)>& on_progress) {
  const Scenario& first = settings.front().scenario;
  for (const CompareSetting& setting : settings)
    if (setting.scenario.engine.num_blocks)
      throw InputError("engine.num_blocks stands for the memory, over which hit rates are drawn; give engine.memory");
  EngineRates rates{.model = first.model.name, .trace = trace_text(first.simulate.trace)};
  rates.memory_bytes = memories_around(first.engine.memory_bytes);
  const int total = static_cast<int>(settings.size() * rates.memory_bytes.size());
  int done = 0;
  bool any = false;
  std::vector<std::vector<std::optional<ReplayedFigures>>> replayed(settings.size());  // (engine, memory)
  for (std::size_t i = 0; i < settings.size(); ++i) {
    rates.names.push_back(settings[i].name);
    std::vector<std::optional<double>>& found = rates.found.emplace_back();
    for (const std::int64_t memory : rates.memory_bytes) {
      if (on_progress) on_progress(done++, total);
      const auto& one = replayed[i].emplace_back(found_of(with_memory(settings[i].scenario, memory)));
      found.push_back(one ? std::optional(one->rate(one->found_tokens)) : std::nullopt);
      if (one) rates.token_exact = std::max(rates.token_exact, one->rate(one->token_exact_tokens.value_or(0)));
      any = any || one.has_value();
    }
    rates.evidence.push_back(evidence_at(settings[i].scenario));
  }
  for (std::size_t at = 0; at < rates.memory_bytes.size(); ++at) {
    std::vector<Scenario> scenarios;
    for (const CompareSetting& setting : settings)
      scenarios.push_back(with_memory(setting.scenario, rates.memory_bytes[at]));
    std::vector<const Scenario*> asked;
    for (const Scenario& scenario : scenarios) asked.push_back(&scenario);
    auto bounds = layout_bounds(asked);
    std::optional<double>& upper = rates.upper.emplace_back();
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      if (!bounds[i]) continue;
      if (replayed[i][at]) add_found(*bounds[i], *replayed[i][at]);
      upper = std::max(upper.value_or(0), bounds[i]->rate(bounds[i]->upper_tokens));
    }
  }
  if (!any) throw InputError("no engine can be replayed in any of these memories; give more engine.memory");
  return rates;
}

}  // namespace hybridkv
