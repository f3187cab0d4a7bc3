#pragma once

#include "engines/vllm/rules_0_33.h"
#include "planner/engine_rules.h"

namespace hybridkv {

/// vLLM's main branch of June 2026 with PR 35703.
extern const EngineRules rules_of_vllm_2026_06;

}  // namespace hybridkv
