#pragma once

#include "planner/engine_rules.h"

namespace hybridkv {

/// Compact slots beside attention pages, a proposal of no engine.
extern const EngineRules rules_of_compact_slots;

}  // namespace hybridkv
