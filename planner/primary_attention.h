#pragma once

#include "planner/arrangement.h"

namespace hybridkv {

/// The attention that a comparison of layouts means: the first layers of the model that see every token, else its first
/// layers with a window, else hidden states; null where nothing is kept token by token. Layers of a draft never count.
const SpecPlan* primary_attention(const Arrangement& arrangement);

/// The layers that a comparison of layouts is about, whose block, kernel block and page every room names: the primary
/// attention, or the first spec where nothing is kept token by token. There the block is what a state stands for: the
/// block of the engine where it is found again, the longest request in mode none.
const SpecPlan& primary_spec(const Arrangement& arrangement);

/// A group of the primary attention, or the first group where there is none.
const GroupPlan& primary_group(const Arrangement& arrangement);

/// Tokens of a block of the primary spec.
std::int64_t primary_block_tokens(const Arrangement& arrangement);

}  // namespace hybridkv
