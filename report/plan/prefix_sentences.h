#pragma once

#include <string>
#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv {

/// How finely a prefix can be found again, in words.
std::vector<std::string> prefix_sentences(const CachePlan& plan);

}  // namespace hybridkv
