#pragma once

#include "planner/plan.h"
#include "report/plot.h"
#include "simulator/simulation.h"
#include "simulator/trace_spec.h"

namespace hybridkv {

/// The plans to draw and what they were made from: some plots ask the planner again, for another mode or memory, or
/// send traffic through the plans.
struct PlotInputs {
  ModelSpec model;
  EngineSpec engine;
  LimitsSpec limits;
  PlanSet set;      ///< of these specs; at least one plan
  PlanSet compared; ///< what is drawn against the pack size; at least one plan
  TraceSpec trace;
};

/// Plans to draw against the pack size where nobody said which: N that divide the packed attention layers, of those
/// that can be planned. One plan would be a lonely point.
PlanSet plans_of_divisors(const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits,
                          const PlanSet& set);

}  // namespace hybridkv
