#include "ask/plot/fleet_curves.h"

#include <algorithm>
#include <utility>

#include "ask/replay/planned_caches.h"

namespace hybridkv {

namespace {

/// As many as a picture shows apart.
constexpr std::int64_t most_stretches = 60;

std::vector<FleetStretch> stretches_of(const std::vector<RoutedRequest>& requests, std::int64_t requests_each,
                                       std::int64_t replicas) {
  std::vector<FleetStretch> stretches;
  for (const RoutedRequest& one : requests) {
    const auto place = static_cast<std::size_t>(one.index / requests_each);
    while (stretches.size() <= place)
      stretches.push_back({.computed_tokens = std::vector<std::int64_t>(static_cast<std::size_t>(replicas))});
    FleetStretch& stretch = stretches[place];
    stretch.prompt_tokens += one.prompt_tokens;
    stretch.found_tokens += one.found_tokens;
    stretch.computed_tokens[static_cast<std::size_t>(one.replica)] += one.prompt_tokens - one.found_tokens;
  }
  return stretches;
}

/// The most that a store of the memory of all, or a router, found in that cache.
double shared_rate(const FleetCache& cache) { return std::max(cache.one_store.hit_rate(), cache.best().found_rate()); }

}  // namespace

FleetGaps gaps_of(const FleetAnswer& answer, const FleetCache& cache, const RoutedFleet& routed) {
  double best_layout = 0, bound = 0;
  for (const FleetCache& other : answer.caches) {
    best_layout = std::max(best_layout, shared_rate(other));
    if (other.bound) bound = std::max(bound, other.bound->rate(other.bound->upper_tokens));
  }
  return {.found = routed.found_rate(),
          .routing = cache.best().found_rate() - routed.found_rate(),
          .sharing = shared_rate(cache) - cache.best().found_rate(),
          .layout = best_layout - shared_rate(cache),
          .policy = std::max(0.0, bound - best_layout)};
}

FleetCurves fleet_curves(Scenario scenario, const std::function<void(const SweepProgress&)>& on_progress) {
  scenario.simulate.upper_bounds = true;
  const std::vector<AnyCache> caches = planned_caches(scenario);
  const std::optional<TimedAnswer> timed = set_clock(scenario, caches.front());
  const std::int64_t replicas = scenario.simulate.fleet.replicas;
  std::vector<std::vector<std::vector<RoutedRequest>>> served(caches.size());
  FleetWatch watch;
  watch.on_progress = on_progress;
  watch.on_start = [&](std::size_t routers) { for (auto& of_cache : served) of_cache.resize(routers); };
  watch.on_served = [&](std::size_t cache, std::size_t router, const RoutedRequest& request) {
    served[cache][router].push_back(request);
  };
  FleetCurves curves{.model = scenario.model.name,
                     .answer = simulate_fleet({scenario.simulate, caches, timed}, scenario_bounds(scenario, replicas),
                                              watch),
                     .courses = {}};
  curves.stretch_requests = std::max<std::int64_t>(1, (curves.answer.requests + most_stretches - 1) / most_stretches);
  for (const auto& of_cache : served) {
    auto& courses = curves.courses.emplace_back();
    for (const auto& requests : of_cache)
      courses.push_back(stretches_of(requests, curves.stretch_requests, replicas));
  }
  return curves;
}

}  // namespace hybridkv
