#include "ask/replay/replay_settings.h"

#include "ask/plan.h"
#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate.h"
#include "ask/replay/simulate_request.h"
#include "base/error.h"

namespace hybridkv {

ReplayedFigures figures_of(const ReplayedIndex& replayed) {
  const ReplayCounts& counts = replayed.counts();
  return {counts.taken_prompt_tokens, counts.hit_tokens, replayed.token_exact_hit_tokens};
}

ReplayedIndex replay_setting(const Scenario& scenario, const std::function<void(const SweepProgress&)>& on_progress) {
  SimulateRequest request = scenario.simulate;
  request.upper_bounds = true;
  const CachePlan plan = plan_scenario(scenario, scenario.pack_sizes, PlanDetail::numbers).plans.front();
  return simulate({request, {cache_of(plan, scenario)}}, {.on_progress = on_progress}).caches.front();
}

std::vector<std::optional<ReplayedIndex>> replay_settings(
    const std::vector<CompareSetting>& settings, const std::vector<bool>& planned,
    const std::function<void(const SweepProgress&)>& on_progress) {
  std::vector<std::optional<ReplayedIndex>> replayed;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    replayed.emplace_back();
    const Scenario& scenario = settings[i].scenario;
    if (!planned[i]) continue;
    try {
      replayed.back() = replay_setting(scenario, on_progress);
    } catch (const SpecError& error) {
      throw located(scenario_error(error), scenario);
    }
  }
  return replayed;
}

}  // namespace hybridkv
