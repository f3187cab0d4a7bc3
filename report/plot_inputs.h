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
  TraceSpec trace;  ///< a made-up one keeps its prompts within the longest max_model_len
};

}  // namespace hybridkv
