#pragma once

#include <span>
#include <vector>

#include "planner/cache_plan.h"
#include "planner/demand.h"

namespace hybridkv {

/// Bytes lost in every table entry, one for each group.
std::vector<BlockWaste> waste_per_block(const Arrangement& arrangement);

/// Where every byte of the pools goes while these requests run. `per_block`: waste_per_block of the arrangement.
/// Throws SpecError("limits.load_tokens") where they need more than the usable ids.
LoadWaste waste_at_load(const Arrangement& arrangement, std::span<const BlockWaste> per_block,
                        std::span<const std::int64_t> sequence_tokens);

}  // namespace hybridkv
