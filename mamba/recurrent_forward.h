#pragma once

#include <cstdint>
#include <span>

#include "mamba/recurrent_layer.h"
#include "mamba/state_view.h"

namespace hybridkv {

/// Runs consecutive tokens of one sequence in chunks: reads the state from `from` and leaves that after the last token
/// in `to`, which may be the same place, each in its own dtype; between the two it is float.
///
/// `inputs` (token, input_width), `outputs` (token, output_width) as RecurrentLayer lists them; a convolution state
/// longer than K-1 keeps its newest inputs in its first K-1 steps.
/// Pre: chunk_tokens >= 1; the views have the shapes of `state_of`.
void run_chunked(const RecurrentLayer& layer, std::span<const float> inputs, const StateView& from, const StateView& to,
                 std::int64_t chunk_tokens, std::span<float> outputs);

/// Where a sequence keeps its state while it verifies draft tokens: one state block for each token of a step.
struct DraftStates {
  std::span<const StateView> blocks;  ///< (1 + s); after prefill the state lies in the first
  std::int64_t accepted = 1;          ///< tokens of the last step that were kept, 1 to 1 + s; 1 after prefill
};

/// Verifies 1 to 1 + s tokens of one sequence: goes on from the last accepted token and leaves the state after the
/// i-th token in block i, so that the next step can go on from any of them. A convolution state that is longer for
/// drafts lies in the first block for all of them; the accepted count is its offset. One of K-1 steps lies in every
/// block.
/// Source: vLLM causal_conv1d_update with num_accepted_tokens.
void run_draft_step(const RecurrentLayer& layer, std::span<const float> inputs, const DraftStates& states,
                    std::span<float> outputs);

/// The state after the last accepted token as one that `run_chunked` or another sequence can go on from, bit for bit.
/// `to` may be one of the blocks.
void copy_accepted(const RecurrentLayer& layer, const DraftStates& states, const StateView& to);

}  // namespace hybridkv
