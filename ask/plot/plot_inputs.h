#pragma once

#include "planner/cache_plan.h"
#include "planner/engine_spec.h"
#include "planner/model_spec.h"
#include "scenarios/scenario.h"
#include "simulator/blocks/cache_geometry.h"

namespace hybridkv {

/// The plans to draw and what they were made from: some plots ask the planner again, for another mode or memory, or
/// send traffic through the plans.
struct PlotInputs {
  ModelSpec model;
  EngineSpec engine;
  LimitsSpec limits;
  PlanSet set;      ///< of these specs; at least one plan
  PlanSet compared; ///< what is drawn against the pack size; at least one plan
  SimulateRequest simulate;  ///< what is replayed, how, and through which settings of the cache
};

/// The cache of a plan as `simulate` replays it. Throws SpecError where the simulator does not model it.
CacheGeometry replayed_cache(const PlotInputs& inputs, const CachePlan& plan);

/// The plans of a scenario as `plot` and `report` draw them; against the pack size, those of the scenario or, where it
/// names none, the packs that divide the attention layers. Throws InputError with the place of what cannot be planned.
PlotInputs plot_inputs(const Scenario& scenario);

}  // namespace hybridkv
