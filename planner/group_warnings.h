#pragma once

#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv {

/// What one would want to know of a plan with pool groups: that nothing is found again, or not by copies, that the
/// engine's own estimate asks for more, and what it changes as it starts. Pre: the plan has them.
void warn_of_groups(std::vector<Warning>& warnings, const CachePlan& plan);

}  // namespace hybridkv
