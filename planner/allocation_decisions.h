#pragma once

#include <span>

#include "planner/cache_plan.h"

namespace hybridkv {

/// How the strides and offsets of one allocation follow from its order, once for each group.
/// Pre: plan.cache_order is set.
void derive_allocation_views(const CachePlan& plan, std::span<const ViewPlan> views, Derivation& derivation);

}  // namespace hybridkv
