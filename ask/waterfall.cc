#include "ask/waterfall.h"

#include "ask/replay_curves.h"
#include "simulator/sweep.h"

namespace hybridkv {

Waterfalls waterfalls(const PlotInputs& inputs) {
  SweepSpec sweep{.losses = true};
  for (const CachePlan& plan : inputs.set.plans)
    sweep.simulations.push_back({.geometry = replayed_cache(inputs, plan), .driver = inputs.simulate.driver});
  return {trace_text(inputs.simulate.trace), run_sweep(*open_trace(inputs.simulate.trace), sweep).losses};
}

}  // namespace hybridkv
