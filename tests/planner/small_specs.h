#pragma once

#include "planner/arrangement.h"

namespace hybridkv::testing {

/// Tokens of a block of the specs below.
inline constexpr std::int64_t small_block = 16;

inline Arrangement plan_with(CacheMode mode, std::int64_t speculative_tokens = 0, std::int64_t batch = 1) {
  Arrangement plan;
  plan.cache_mode = mode;
  plan.speculative_tokens = speculative_tokens;
  plan.max_num_batched_tokens = batch;
  return plan;
}

inline SpecPlan recurrent() {
  SpecPlan spec;
  spec.state = StateSpec{};
  spec.block_size_tokens = small_block;
  return spec;
}

inline SpecPlan attention(AttentionKind kind, std::int64_t window = 0) {
  SpecPlan spec;
  spec.attention = AttentionGeometry{.kind = kind, .window_tokens = window};
  spec.block_size_tokens = small_block;
  return spec;
}

}  // namespace hybridkv::testing
