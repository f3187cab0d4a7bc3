#include "ask/simulate_bounds.h"

#include "ask/bound_order.h"

namespace hybridkv {

namespace {

/// `stats`, `token_exact`: (cache).
template <class Stats>
std::vector<std::optional<LayoutBound>> bounds_beside(const Scenario& scenario, const std::vector<Stats>& stats,
                                                      const std::vector<std::int64_t>& token_exact) {
  std::vector<std::optional<LayoutBound>> bounds = scenario_bounds(scenario);
  for (std::size_t i = 0; i < bounds.size(); ++i)
    if (bounds[i])
      add_found(*bounds[i], {stats.at(i).taken_prompt_tokens, stats.at(i).hit_tokens, token_exact.at(i)});
  return bounds;
}

}  // namespace

void add_bounds(SimulateAnswer& answer, const Scenario& scenario) {
  answer.bounds = bounds_beside(scenario, answer.result.stats, answer.result.token_exact_hit_tokens);
}

void add_bounds(RadixAnswer& answer, const Scenario& scenario) {
  answer.bounds = bounds_beside(scenario, answer.stats, answer.token_exact_hit_tokens);
}

}  // namespace hybridkv
