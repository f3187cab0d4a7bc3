#include "ask/plot/waterfall.h"

#include "ask/plot/replay_curves.h"
#include "simulator/sweep.h"

namespace hybridkv {

Waterfalls waterfalls(const PlotInputs& inputs) {
  SweepSpec sweep{.losses = true};
  for (const CachePlan& plan : inputs.set.plans)
    sweep.simulations.push_back({.cache = replayed_cache(inputs, plan), .driver = inputs.simulate.driver});
  Waterfalls found{trace_text(inputs.simulate.trace), {}};
  for (ReplayedIndex& cache : run_sweep(*open_trace(inputs.simulate.trace), sweep).caches)
    found.plans.push_back(std::move(*cache.losses));
  return found;
}

}  // namespace hybridkv
