#pragma once

#include "planner/engine_rules.h"

namespace hybridkv {

/// SGLang 0.5.23.
extern const EngineRules rules_of_sglang_0_5_23;

}  // namespace hybridkv
