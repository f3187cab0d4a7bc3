#pragma once

#include <cstdint>

#include "planner/cache_plan.h"

namespace hybridkv {

/// Block ids that one request of `tokens` tokens takes in one group of this spec of the plan.
///
/// Full attention, mla and hidden states: ceil(L/B). Recurrent: none 1+s, align 2+s, all ceil(L/B)+s. Sliding window:
/// ceil(min(window-1+batch, L)/B)+1; chunked local: the blocks of one chunk and one batch, ceil(min(window+batch,
/// L)/B). Source: vLLM max_memory_usage_bytes.
std::int64_t group_block_ids(const CachePlan& plan, const SpecPlan& spec, std::int64_t tokens);

/// Block ids of one request over all groups and per-request extras.
std::int64_t request_block_ids(const CachePlan& plan, std::int64_t tokens);

}  // namespace hybridkv
