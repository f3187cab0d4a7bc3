#pragma once

#include "planner/block_ids.h"
#include "planner/cache_plan.h"

namespace hybridkv {

/// num_blocks = floor(floor(memory / P) / g); with bytes per block outside the pages
/// floor(memory / (g * P + extras)). Source: vLLM get_kv_cache_groups.
std::int64_t blocks_in_memory(std::int64_t memory_bytes, std::int64_t page_bytes, std::int64_t num_pools,
                              std::int64_t extra_bytes_per_block);

/// Bytes of one block id over all pools and per-block extras.
std::int64_t bytes_per_block_id(const CachePlan& plan);

/// What fits at one maximal length. Pre: the plan's groups, pools and num_blocks are set. Source: vLLM max_memory_usage_bytes, get_max_concurrency_for_kv_cache_config.
CapacityPlan capacity_at(const CachePlan& plan, std::int64_t max_model_len, TokenRule rule);

/// How many percent of the ideal bytes paging adds to one request; 0 where the ideal is 0.
double over_ideal_percent(const CapacityPlan& capacity);

/// Longest request that `blocks` ids can hold, by binary search; 0 where not even one token fits, at most
/// largest_tokens.
std::int64_t longest_request(const CachePlan& plan, std::int64_t blocks);

}  // namespace hybridkv
