#pragma once

#include <cstdint>

#include "planner/engine_spec.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// Checks every number of the specs for itself: counts and sizes in range, at least one layer and one length, windows
/// where the kind needs them. Throws SpecError with the field, the value and what is allowed.
void validate(const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits);

}  // namespace hybridkv
