#pragma once

#include "planner/engine_rules.h"

namespace hybridkv {

/// Jenga, from its paper.
extern const EngineRules rules_of_jenga;

}  // namespace hybridkv
