#pragma once

#include <string>
#include <utility>
#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv {

/// What a plan with tree pools says beside all others: what the engine prints at its start, what of a request limits
/// how many run, what another split would do, the elastic buffer. Pre: the plan has tree pools.
std::vector<std::pair<std::string, std::string>> tree_pool_facts(const CachePlan& plan, const CapacityPlan& capacity);

/// Which prefixes the engine finds again, in a few words. Pre: the plan has tree pools.
std::string tree_pool_text(const CachePlan& plan);

}  // namespace hybridkv
