#pragma once

#include <string>
#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv::testing {

/// The first law of arrangements that this plan breaks, in a few words; empty where it keeps all of them.
///
/// Lanes of a pool never share a byte, and fill it. A placement of an id lies inside that id's piece. Two placements of
/// one group, lane and piece of an entry never share a byte. Bytes of an entry are those of its placements or lost for
/// a named reason. What pools, arenas and waste say of their bytes agrees.
std::string broken_law(const CachePlan& plan);

}  // namespace hybridkv::testing
