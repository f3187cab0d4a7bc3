#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attention/metadata.h"
#include "verify/forward/forward_engine.h"

namespace hybridkv {

/// Tokens of the encoder that are seen: all, or with that fault planted what else their last block has room for.
std::int64_t seen_of_encoder(std::int64_t encoder_tokens, std::int64_t block_size_tokens,
                             std::optional<ForwardFault> fault);

/// The batch of attention to the encoders of requests: each query token, be it of a prompt, looks at all their tokens.
/// `held`: which of the tables that a request holds beside its tokens'; `others`: each looks at the encoder of the
/// request behind its own.
CommonAttentionMetadata encoder_metadata(std::span<const ForwardChunk> chunks, std::size_t held,
                                         std::int64_t block_size_tokens, std::int64_t encoder_tokens, bool others);

/// Where those tokens of a request are stored. Pre: it holds the blocks of all of them.
std::vector<std::int64_t> encoder_slots(std::span<const BlockId> blocks, std::int64_t block_size_tokens,
                                        std::int64_t encoder_tokens);

}  // namespace hybridkv
