#pragma once

#include "planner/arrangement.h"
#include "planner/derivation.h"
#include "planner/model_spec.h"
#include "planner/strategies.h"

namespace hybridkv {

/// Arranges the specs of a model as engine.strategy says. Throws as the strategy does.
Arrangement arrange(std::vector<SpecPlan> specs, const ArrangeInputs& inputs);

}  // namespace hybridkv
