#pragma once

#include "simulator/plan_cache.h"

namespace hybridkv {

/// The cache of a plan as 0.32 finds prefixes in it. Throws SpecError for drafters that it was not asked about.
AnyCache cache_of_vllm_0_32(const CachePlan& plan, const ModelSpec& model, const EngineSpec& engine);

}  // namespace hybridkv
