#pragma once

#include "planner/cache_plan.h"
#include "planner/derivation.h"
#include "planner/engine_spec.h"

namespace hybridkv {

/// Writes down what a request costs and how many fit, at every length of the plan's capacity, of one token, and of the
/// longest that fits. Pre: groups, pools, num_blocks and capacity are set.
/// Source: vLLM max_memory_usage_bytes, get_max_concurrency_for_kv_cache_config.
void derive_requests(const CachePlan& plan, TokenRule rule, Derivation& derivation);

}  // namespace hybridkv
