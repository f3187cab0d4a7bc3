#pragma once

#include <cstdint>

#include "planner/cache_plan.h"
#include "simulator/cache_geometry.h"

namespace hybridkv {

/// The cache of a plan as the cases of a forward pass drive it: groups, blocks and mode of the plan, windows and chunks
/// of its layers, and a token budget that is no multiple of the block, so that chunks end inside blocks.
CacheGeometry forward_geometry(const CachePlan& plan);

/// Block ids of one request of so many tokens at most, whatever the mode.
std::int64_t most_block_ids(const CacheGeometry& geometry, std::int64_t tokens);

/// The token that is computed next when the last group with a window or chunk gives back its first block; 0 where no
/// group has one.
std::int64_t first_give_back(const CacheGeometry& geometry);

/// Blocks a pool needs for every case, null block included.
std::int64_t forward_pool_blocks(const CachePlan& plan);

}  // namespace hybridkv
