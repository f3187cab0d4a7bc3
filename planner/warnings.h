#pragma once

#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv {

/// What no run of the engine confirms, and what is legal in this plan but would surprise its user: a block longer than
/// the longest prompt (nothing can ever hit), a longest prompt on the knife edge of mode align (an exact copy hits
/// nothing), a step below the block (prompts would wait for ever), a pool at its exact bound (one request can never
/// finish, because of the null block), a length that does not fit, a short last pack. Pre: everything else of the plan
/// is set.
std::vector<Warning> plan_warnings(const CachePlan& plan, const LimitsSpec& limits);

}  // namespace hybridkv
