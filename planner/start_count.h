#pragma once

#include <cstdint>
#include <optional>

#include "planner/cache_plan.h"

namespace hybridkv {

/// What the engine counts of a request when it checks at its start whether one fits, and prints.
struct StartCount {
  std::int64_t encoder_tokens = 0;  ///< that a request keeps; the engine counts a whole step
  std::int64_t ids = 0;             ///< block ids of a request
  double concurrency = 0;           ///< num_blocks / ids
  std::int64_t tokens = 0;          ///< int(concurrency * max_model_len)
};

/// Nothing where the engine counts what a request takes; it counts more beside an encoder that reads fewer tokens than
/// a step has. Source: vLLM CrossAttentionSpec.max_memory_usage_bytes, get_kv_cache_capacity.
std::optional<StartCount> start_count(const CachePlan& plan, const CapacityPlan& capacity);

}  // namespace hybridkv
