#include "ask/replay/bound.h"

#include <fmt/format.h>

#include <algorithm>

#include "ask/fleet/fleet.h"
#include "ask/replay/bound_order.h"
#include "ask/replay/planned_caches.h"
#include "ask/replay/replay_settings.h"
#include "ask/replay/simulate_request.h"
#include "ask/typed_list.h"
#include "base/error.h"
#include "base/first_line.h"

namespace hybridkv {

namespace {

/// What replicas of the scenario's cache find of its trace, round robin and by the best router.
void try_routers(BoundAnswer& answer, const Scenario& scenario, ReplayedFigures& replayed) {
  SimulateRequest request = scenario.simulate;
  request.losses = false;
  const std::vector<AnyCache> caches{planned_caches(scenario).back()};
  request.fleet = {.replicas = scenario.simulate.fleet.replicas};
  for (const auto& [kind, name] : router_kind_names)
    if (!hears_events(kind) || std::holds_alternative<CacheGeometry>(caches.front()))
      request.fleet.routers.push_back(kind);
  const FleetAnswer tried = simulate_fleet({request, caches, {}}, {});
  const FleetCache& cache = tried.caches.front();
  answer.router = to_string(cache.best().router.kind);
  replayed.found_tokens = cache.routers.front().result.counts.hit_tokens;
  answer.layout.feasible_tokens = cache.best().result.counts.hit_tokens;
}

void bound(BoundAnswer& answer, const Scenario& scenario) {
  const std::int64_t replicas = std::max<std::int64_t>(1, scenario.simulate.fleet.replicas);
  answer.layout = layout_bound(scenario, {}, replicas);
  ReplayedFigures replayed = figures_of(replay_setting(scenario));
  if (replicas > 1) try_routers(answer, scenario, replayed);
  answer.found_tokens = replayed.found_tokens;
  answer.token_exact_tokens = replayed.token_exact_tokens.value_or(0);
  add_found(answer.layout, replayed);
}

void bound_time(BoundAnswer& answer, const Scenario& scenario, const TimedQuestion& timed) {
  try {
    answer.time = time_bound(scenario, timed);
  } catch (const InputError& error) {
    answer.no_time = first_line(error.what());
  }
}

}  // namespace

std::vector<BoundAnswer> bounds(const std::vector<CompareSetting>& settings,
                                const std::function<void(int done, int total)>& on_progress,
                                const std::optional<TimedQuestion>& timed) {
  for (const CompareSetting& setting : settings)
    refuse_typed_list(setting.scenario, "limits.max_model_len", setting.scenario.limits.max_model_lens,
                      "simulate --upper-bounds");
  std::vector<BoundAnswer> answers;
  for (const CompareSetting& setting : settings) {
    if (on_progress) on_progress(static_cast<int>(answers.size()), static_cast<int>(settings.size()));
    BoundAnswer& answer = answers.emplace_back(BoundAnswer{.name = setting.name});
    try {
      bound(answer, setting.scenario);
      if (timed) bound_time(answer, setting.scenario, *timed);
    } catch (const SpecError& error) {
      const InputError refusal = located(scenario_error(error), setting.scenario);
      answer.refused = first_line(refusal.what());
      if (settings.size() == 1) throw refusal;
    }
  }
  const auto has_time = [](const BoundAnswer& one) { return one.time.has_value(); };
  const bool any_time = std::any_of(answers.begin(), answers.end(), has_time);
  for (const BoundAnswer& answer : answers)
    if (!any_time && !answer.no_time.empty()) throw InputError(answer.no_time);
  if (std::all_of(answers.begin(), answers.end(), [](const BoundAnswer& one) { return !one.refused.empty(); }))
    throw InputError(fmt::format("no layout has a bound; of {}: {}", answers.front().name, answers.front().refused));
  return answers;
}

}  // namespace hybridkv
