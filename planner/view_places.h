#pragma once

#include <cstdint>
#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv {

/// Where the layer of a view is listed, and whose table its block axis follows.
struct ViewPlace {
  std::int64_t group = 0;
  std::int64_t page = 0;   ///< of the group
  std::int64_t table = 0;  ///< group whose block table it is: the first that has it
  bool operator==(const ViewPlace&) const = default;
};

/// Those of all views of a plan, in its order.
std::vector<ViewPlace> view_places(const CachePlan& plan);

}  // namespace hybridkv
