#pragma once

#include <cstdint>

#include "planner/cache_plan.h"

namespace hybridkv {

/// What decides how many block ids a request takes, besides its length.
struct RequestRules {
  CacheMode cache_mode = CacheMode::none;
  std::int64_t speculative_tokens = 0;
  std::int64_t max_num_batched_tokens = 0;
};

/// Block ids that one request of `tokens` tokens takes in one group of this spec.
///
/// Full attention and mla: ceil(L/B). Recurrent: none 1+s, align 2+s, all ceil(L/B)+s. Sliding window:
/// ceil(min(window-1+batch, L)/B)+1; chunked local: the blocks of one chunk and one batch, ceil(min(window+batch,
/// L)/B). Source: domain section 5, vLLM max_memory_usage_bytes.
std::int64_t group_block_ids(const SpecPlan& spec, std::int64_t tokens, const RequestRules& rules);

/// Block ids of one request over all groups and per-request extras.
std::int64_t request_block_ids(const CachePlan& plan, std::int64_t tokens, const RequestRules& rules);

}  // namespace hybridkv
