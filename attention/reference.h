#pragma once

#include <cstdint>
#include <functional>

#include "attention/inputs.h"
#include "attention/output.h"

namespace hybridkv {

/// Whether a query token may see the key at a position of its own request, besides what `causal` and the mask forbid.
/// An empty function forbids nothing.
using KeyFilter = std::function<bool(std::int64_t query_token, std::int64_t key_position)>;

/// Dense attention in float64, slow and obviously right: gathers every request's K and V through its block table
/// (new tokens too: they are in the cache already), masks, caps, takes the softmax. What every backend is compared
/// with. Every mask, soft cap, sinks and MLA; blocks that no token of a request sees are not read.
/// Throws as `check_inputs`.
AttentionOutput<double> reference_attention(const AttentionInputs& inputs, const KeyFilter& sees = {});

}  // namespace hybridkv
