#pragma once

#include <span>

#include "planner/block_ids.h"
#include "planner/cache_plan.h"

namespace hybridkv {

/// Bytes lost in every block id, one entry per group. Pre: specs, groups and page_bytes are set.
std::vector<BlockWaste> waste_per_block(const CachePlan& plan);

/// Where every byte of the pools goes while these requests run. Pre: waste.per_block, pools and num_blocks are set.
/// Throws SpecError("limits.load_tokens") where they need more than the usable blocks.
LoadWaste waste_at_load(const CachePlan& plan, std::span<const std::int64_t> sequence_tokens);

}  // namespace hybridkv
