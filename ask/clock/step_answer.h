#pragma once

#include <string>
#include <vector>

#include "ask/clock/served_clock.h"
#include "clock/step_shape.h"
#include "clock/step_terms.h"

namespace hybridkv {

/// Where one step of a server spends its time.
struct StepAnswer {
  std::string model;
  ServedClock served;
  StepShape shape;
  std::vector<StepTerm> terms;
  StepParts parts;  ///< by the clock itself
};

/// Throws as served_clock.
StepAnswer step_answer(const Scenario& scenario, const ClockQuestion& question, StepShape shape);

}  // namespace hybridkv
