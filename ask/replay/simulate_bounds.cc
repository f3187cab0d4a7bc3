#include "ask/replay/simulate_bounds.h"

#include "ask/replay/replay_settings.h"

namespace hybridkv {

void add_bounds(SimulateAnswer& answer, const Scenario& scenario) {
  std::vector<std::optional<LayoutBound>> bounds = scenario_bounds(scenario);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    ReplayedCache& cache = answer.caches.at(i);
    if (bounds[i]) add_found(*bounds[i], figures_of(cache));
    cache.bound = bounds[i];
  }
}

}  // namespace hybridkv
