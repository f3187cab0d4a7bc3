#pragma once

#include "planner/engine_rules.h"

namespace hybridkv {

/// TensorRT-LLM.
extern const EngineRules rules_of_tensorrt_llm;

}  // namespace hybridkv
