#pragma once

#include <string>
#include <utility>
#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv {

/// What a plan with radix pools says beside all others: what the engine prints at its start, what of a request limits
/// how many run, what another split would do, the elastic buffer. Pre: the plan has radix pools.
std::vector<std::pair<std::string, std::string>> radix_facts(const CachePlan& plan, const CapacityPlan& capacity);

/// Which prefixes the engine finds again, in a few words. Pre: the plan has radix pools.
std::string radix_text(const CachePlan& plan);

}  // namespace hybridkv
