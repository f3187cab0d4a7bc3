#pragma once

#include "planner/cache_plan.h"

namespace hybridkv {

/// How finely a prefix is found again where snapshots of states lie at exact tokens. Pre: the arrangement has pool
/// groups.
PrefixPlan prefix_of_snapshots(const Arrangement& arrangement, const DerivationLog& log);

}  // namespace hybridkv
