#pragma once

#include "planner/engine_rules.h"
#include "planner/engine_spec.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// Where an engine that is told nothing keeps states for prefixes.
CacheMode default_cache_mode(const EngineRules& rules, const ModelSpec& model);

}  // namespace hybridkv
