#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/blocks/cache_geometry.h"

namespace hybridkv {

/// Token positions at which a cold prompt of n tokens, prefilled alone, leaves checkpoints; ascending. Empty without
/// recurrent groups and in mode none. Example: B 528, budget 2048, n 2200, mode align -> 1584, 2112.
std::vector<std::int64_t> checkpoint_positions(const CacheGeometry& geometry, std::int64_t prompt_tokens);

/// Tokens that the copy-th copy (2 = the first repetition) of a prompt hits in a cache that lost nothing since;
/// nothing where there is no closed form: a match unit below the block, a prompt of several chunks that
/// ends on a block boundary, or a drafter where states lie further apart than attention can be found.
std::optional<std::int64_t> predicted_copy_hit(const CacheGeometry& geometry, std::int64_t prompt_tokens,
                                               std::int64_t copy);

/// Block ids of one arena that a running request of that many tokens takes at most (vLLM max_memory_usage_bytes):
/// ceil(L/B) of each attention group, of a window what it holds at a time, 1+s, 2+s or ceil(L/S)+s of each recurrent
/// group, in vLLM 0.33 2+s+c, in TensorRT-LLM floor(L/S)+1 for ceil(L/S)+s, what is held beside them, of arena 0 also
/// the extras.
std::int64_t request_block_ids(const CacheGeometry& geometry, std::int64_t tokens, std::int64_t arena = 0);

/// Longest request, prompt and output together, that one arena can hold to its end; 0 = none, at most 2^40.
/// Example: mode align, 1 + 1 groups, block 16, 69 blocks, s = 3 -> (68 - 5) * 16 = 1008.
std::int64_t longest_request(const CacheGeometry& geometry, std::int64_t arena);
/// The same of all arenas.
std::int64_t longest_request(const CacheGeometry& geometry);

}  // namespace hybridkv
