#pragma once

#include <rapidcheck.h>

#include "tests/attention/batch.h"

namespace hybridkv::test {

/// A random batch of up to five requests, of any mixture, block size and heads.
inline BatchShape random_shape() {
  const auto up_to = [](std::int64_t limit) { return rc::gen::inRange<std::int64_t>(0, limit + 1); };
  BatchShape shape;
  const std::int64_t requests = *up_to(5);
  for (std::int64_t r = 0; r < requests; ++r) {
    shape.query_lens.push_back(*up_to(7));
    shape.context_lens.push_back(*up_to(40));
    shape.is_decode.push_back(*rc::gen::arbitrary<bool>());
  }
  shape.shared_prefix_blocks = *up_to(4);
  shape.block_size = 1 + *up_to(8);
  shape.num_kv_heads = 1 + *up_to(2);
  shape.num_query_heads = shape.num_kv_heads * (1 + *up_to(3));
  shape.head_size_k = 1 + *up_to(11);
  shape.head_size_v = 1 + *up_to(11);
  return shape;
}

}  // namespace hybridkv::test
