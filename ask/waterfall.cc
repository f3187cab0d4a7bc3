#include "ask/waterfall.h"

#include "ask/replay_curves.h"
#include "simulator/plan_geometry.h"
#include "simulator/sweep.h"

namespace hybridkv {

Waterfalls waterfalls(const PlotInputs& inputs) {
  SweepSpec sweep{.losses = true};
  for (const CachePlan& plan : inputs.set.plans)
    sweep.simulations.push_back({.geometry = geometry_of(plan, inputs.engine)});
  return {trace_text(inputs.trace), run_sweep(*open_trace(inputs.trace), sweep).losses};
}

}  // namespace hybridkv
