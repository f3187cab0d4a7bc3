#pragma once

#include "planner/cache_plan.h"
#include "planner/derivation.h"

namespace hybridkv {

/// Writes down where the bytes go: what each block id of each run of like groups loses, and every item of the pools
/// under the stated load, with its share. Pre: the plan's waste is filled in.
void derive_waste(const CachePlan& plan, Derivation& derivation);

/// Replaces what the plan's own derivation says of the load by what its waste.at_load now is; of a plan without a
/// derivation nothing.
void derive_load_again(CachePlan& plan);

}  // namespace hybridkv
