#pragma once

#include <cstdint>
#include <span>

#include "verify/check_result.h"
#include "verify/layout/bound_view.h"

namespace hybridkv {

/// Every layer has its views, in the pool and the group of the rule, and their elements lie where the rules of the
/// physical order put them (physical_order.h): what the plan says, and what the engine under test computes for K, V and
/// states. Compared at the first, the last and other blocks: whole axes one by one, corners, and elements drawn with
/// the seed. `count` = addresses compared.
CheckResult check_physical_order(const CachePlan& plan, std::span<const BoundView> views, std::uint64_t seed);

}  // namespace hybridkv
