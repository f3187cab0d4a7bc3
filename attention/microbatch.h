#pragma once

#include <cstdint>

#include "attention/derived_metadata.h"
#include "attention/inputs.h"

namespace hybridkv {

/// The part of a batch with the query tokens [first_token, last_token), as a batch of its own: its output is the
/// same rows of the output of the whole batch. A request that is cut loses what is cut off its tail from its
/// sequence; what is cut off its head becomes context, since all new tokens are in the cache already. Requests
/// without a token in the range vanish.
/// Throws InputError for a range outside the batch, for a cut inside a request whose tokens see later ones (not
/// causal), and as `check_metadata` under the mask.
/// Source: vLLM's dual batch overlap, make_metadata_with_slice.
/// Example: query lengths {1, 5} of sequences of {32, 48} tokens, tokens [0, 3): {1, 2} of {32, 45}; tokens [3, 6):
/// {3} of {48}.
DerivedMetadata slice_metadata(const CommonAttentionMetadata& metadata, std::int64_t first_token,
                               std::int64_t last_token, const KeyMask& mask = {});

/// The same with the rows of query, key_new and value_new. Throws as `check_inputs` and `slice_metadata`.
AttentionInputs slice_inputs(const AttentionInputs& inputs, std::int64_t first_token, std::int64_t last_token);

/// The rows [first_token, last_token) of the tensors that have one per query token. Pre: they exist.
AttentionTensors slice_tensors(const AttentionTensors& tensors, std::int64_t first_token, std::int64_t last_token);

}  // namespace hybridkv
