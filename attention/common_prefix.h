#pragma once

#include <cstdint>

#include "attention/metadata.h"

namespace hybridkv {

/// Tokens of the leading blocks that all requests of a batch have in common and that every query token may see as
/// past context: a multiple of the block size, 0 where there are none. Requests without query tokens do not count;
/// the prefix of a single request is its context in whole blocks. For layers that see every earlier token (the full
/// mask) only. Pre: metadata that passes `check_metadata`.
/// Source: vLLM's get_num_common_prefix_blocks and the common_prefix_len of its metadata builders, which likewise stay
/// within the computed tokens of every request.
/// Example: blocks of 16, rows {5, 6, 7} and {5, 6, 8}, contexts of 40 and 31 tokens: 16, since the token at position
/// 31 of the second request computes the last key of its second block itself.
std::int64_t common_prefix_tokens(const CommonAttentionMetadata& metadata);

}  // namespace hybridkv
