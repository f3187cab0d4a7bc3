#pragma once

#include <cstdint>

#include "attention/key_mask.h"

namespace hybridkv {

/// What the layers of one group have in common: with it a backend plans a batch once and runs the plan for all of them.
struct AttentionShape {
  std::int64_t num_query_heads = 0;  ///< a multiple of num_kv_heads
  std::int64_t num_kv_heads = 0;
  std::int64_t head_size_k = 0;      ///< channels
  std::int64_t head_size_v = 0;
  KeyMask mask = {};
  bool operator==(const AttentionShape&) const = default;
};

}  // namespace hybridkv
