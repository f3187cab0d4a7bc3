#pragma once

#include "planner/plan.h"
#include "report/plot.h"
#include "simulator/simulation.h"
#include "simulator/synthetic_trace.h"

namespace hybridkv {

/// The plans to draw and what they were made from: some plots ask the planner again, for another mode or memory, or
/// send traffic through the plans.
struct PlotInputs {
  ModelSpec model;
  EngineSpec engine;
  LimitsSpec limits;
  PlanSet set;               ///< of these specs; at least one plan
  SyntheticTraceSpec trace;  ///< prompts are kept within the longest max_model_len
};

}  // namespace hybridkv
