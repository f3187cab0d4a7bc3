#pragma once

#include "planner/arrangement.h"
#include "planner/derivation.h"
#include "planner/model_spec.h"
#include "planner/page_sizes.h"

namespace hybridkv {

/// num_blocks = floor(floor(memory / P) / g); with bytes per block outside the pages
/// floor(memory / (g * P + extras)). Source: vLLM get_kv_cache_groups.
std::int64_t blocks_in_memory(std::int64_t memory_bytes, std::int64_t page_bytes, std::int64_t num_pools,
                              std::int64_t extra_bytes_per_block);

/// The one arena of pools of pages of one size: ids that own a page in each of them, a lane a pool. Pre: the pools and
/// the extras are there, no arena and no lane.
void set_only_arena(Arrangement& arrangement, std::int64_t page_bytes, std::int64_t num_blocks);

/// Puts specs of one page size into one arena: g pools of pages, each a lane, and groups of g pages that share them.
/// A page larger than P takes several ids of each entry. Throws SpecError("engine.num_blocks") where the pools leave 64
/// bits. Source: vLLM get_kv_cache_groups.
void share_pools(Arrangement& arrangement, SizedPages sized, const ModelSpec& model, const EngineSpec& engine,
                 const DerivationLog& log);

}  // namespace hybridkv
