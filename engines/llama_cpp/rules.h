#pragma once

#include "planner/engine_rules.h"

namespace hybridkv {

/// llama.cpp and its server.
extern const EngineRules rules_of_llama_cpp;

}  // namespace hybridkv
