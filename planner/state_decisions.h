#pragma once

#include "mamba/recurrent_spec.h"
#include "planner/cache_plan.h"
#include "planner/derivation.h"

namespace hybridkv {

/// Writes down why the state of a recurrent layer has its shapes, offsets and size: each axis of each tensor by the
/// rule of the family, where each tensor begins, and M. Pre: `spec.state` is state_of(layer, context).
/// Source: vLLM MambaStateShapeCalculator.
void derive_state(const RecurrentSpec& layer, const StateContext& context, const SpecPlan& spec,
                  const EngineSpec& engine, Derivation& derivation);

}  // namespace hybridkv
