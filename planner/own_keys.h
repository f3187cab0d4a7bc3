#pragma once

#include "planner/engine_spec.h"

namespace hybridkv {

/// Refuses keys and strategies that this engine has not, but another one has: SpecError with the key and the engine to
/// take. Which keys an engine takes is in its rules (EngineRules::own_keys).
void refuse_keys_of_others(const EngineSpec& engine);

}  // namespace hybridkv
