#pragma once

#include "planner/cache_plan.h"
#include "planner/demand.h"

namespace hybridkv {

/// What fits at one maximal length. Source: vLLM max_memory_usage_bytes, get_max_concurrency_for_kv_cache_config.
CapacityPlan capacity_at(const Arrangement& arrangement, std::int64_t max_model_len, TokenRule rule);

/// Tokens of the longest request that the engine takes, whatever memory holds: of rows by sequence one less than the
/// context of a sequence, which its last token fills without being computed; else largest_tokens.
std::int64_t longest_context(const Arrangement& arrangement);

/// Longest request that `requests` times fits the usable ids; 0 where not even one token fits, at most largest_tokens.
std::int64_t longest_request(const Arrangement& arrangement, double requests = 1);

/// Requests of that demand which the usable ids hold.
std::int64_t running_requests(const Arrangement& arrangement, const Demand& demand);

/// The same counting the ids of states alone; 0 without any.
std::int64_t running_by_states(const Arrangement& arrangement);

}  // namespace hybridkv
