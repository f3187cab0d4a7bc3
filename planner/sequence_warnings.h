#pragma once

#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv {

/// What one would want to know of a plan with rows by sequence: that windows find nothing again, that checkpoints carry
/// what a drafter keeps, and faults of the engine that its settings meet. Pre: the plan has them.
void warn_of_sequences(std::vector<Warning>& warnings, const CachePlan& plan);

}  // namespace hybridkv
