#pragma once

#include <string>

#include "planner/cache_plan.h"

namespace hybridkv {

/// What the types of a plan's JSON alone do not say: there is a capacity and a group, every spec, group, arena, lane
/// and pool that is referred to exists (a reader may index by them), and a spec is of one kind. `path` is that of the
/// plan. Throws InputError with the path of the value.
void check_references(const CachePlan& plan, const std::string& path);

}  // namespace hybridkv
