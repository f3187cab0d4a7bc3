#pragma once

#include <string>
#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv::testing {

/// Reads the numbers of the JSON of the first plan beside its derivation: what is wrong, numbers without a derivation,
/// or with another value.
std::vector<std::string> underived(const PlanSet& set);

}  // namespace hybridkv::testing
