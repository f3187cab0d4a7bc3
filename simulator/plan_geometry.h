#pragma once

#include "planner/cache_plan.h"
#include "planner/engine_spec.h"
#include "simulator/cache_geometry.h"

namespace hybridkv {

/// The cache of a plan as the simulator sees it; settings that only a scheduler knows keep their defaults.
///
/// Groups with a window (a draft model's) take no part in prefix caching here: a request holds as many blocks for
/// them as a long one needs, like the plan's per-request extras. Hidden states count as an attention
/// group. The longest max_model_len of the plan is the cache's. Throws SpecError where groups differ in their block,
/// which the simulator does not model.
CacheGeometry geometry_of(const CachePlan& plan, const EngineSpec& engine);

}  // namespace hybridkv
