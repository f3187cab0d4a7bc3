#include "mamba/recurrent_forward.h"

#include <algorithm>

#include "layout/permute.h"
#include "layout/slice.h"
#include "mamba/chunk_rows.h"

namespace hybridkv {

namespace {

void run_chunks(const RecurrentLayer& layer, std::span<const float> inputs, std::int64_t chunk_tokens,
                RunningState& state, std::span<float> outputs) {
  const std::int64_t in = input_width(layer.spec);
  const std::int64_t out = output_width(layer.spec);
  const std::int64_t tokens = static_cast<std::int64_t>(inputs.size()) / in;
  expects(chunk_tokens >= 1 && static_cast<std::int64_t>(inputs.size()) == tokens * in &&
              static_cast<std::int64_t>(outputs.size()) == tokens * out,
          "inputs and outputs are whole rows of as many tokens");
  for (std::int64_t first = 0; first < tokens; first += chunk_tokens) {
    const ChunkRows rows{std::min(chunk_tokens, tokens - first), inputs.data() + first * in, in,
                         outputs.data() + first * out, out};
    std::visit([&](const auto& family) { run_chunk(family, layer.weights, rows, state); }, layer.spec);
  }
}

/// So many steps of a convolution state, from the `first` on, as (step, channel) whichever lies inside.
TensorView steps_of(const TensorView& conv, std::int64_t first, std::int64_t count) {
  TensorView part = conv;
  part.layout = permute(slice(conv.layout, "step", first, count), {"step", "channel"});
  return part;
}

/// K-1 of them.
TensorView window(const RecurrentLayer& layer, const TensorView& conv, std::int64_t first) {
  return steps_of(conv, first, conv_taps(layer.spec) - 1);
}

/// Do the steps of all drafts lie in the first block? Not where every block has a convolution state of its own.
bool shares_conv(const RecurrentLayer& layer, const DraftStates& states) {
  const StateView& first = states.blocks.front();
  return first.has_conv() && conv_holds_drafts(layer.spec) &&
         first.conv.layout.extent("step") > conv_taps(layer.spec) - 1;
}

/// Where the state after the last accepted token lies.
StateView accepted_state(const RecurrentLayer& layer, const DraftStates& states) {
  expects(states.accepted >= 1 && states.accepted <= static_cast<std::int64_t>(states.blocks.size()),
          "at least one token of a step is accepted, at most one a block");
  StateView state = states.blocks[states.accepted - 1];
  if (!state.has_conv()) return state;
  state.conv = shares_conv(layer, states) ? window(layer, states.blocks[0].conv, states.accepted - 1)
                                          : window(layer, state.conv, 0);
  return state;
}

RunningState load(const StateView& state) {
  RunningState running;
  if (state.has_conv()) running.conv = load_tensor(state.conv);
  if (state.has_ssm()) running.ssm = load_tensor(state.ssm);
  return running;
}

/// The first K-1 steps of a convolution state and the whole recurrent tensor.
StateView plain(const RecurrentLayer& layer, StateView state) {
  if (state.has_conv()) state.conv = window(layer, state.conv, 0);
  return state;
}

void store(const RunningState& running, const StateView& state) {
  if (state.has_conv()) store_tensor(state.conv, running.conv);
  if (state.has_ssm()) store_tensor(state.ssm, running.ssm);
}

}  // namespace

void run_chunked(const RecurrentLayer& layer, std::span<const float> inputs, const StateView& from, const StateView& to,
                 std::int64_t chunk_tokens, std::span<float> outputs) {
  RunningState state = load(plain(layer, from));
  run_chunks(layer, inputs, chunk_tokens, state, outputs);
  store(state, plain(layer, to));
}

void run_draft_step(const RecurrentLayer& layer, std::span<const float> inputs, const DraftStates& states,
                    std::span<float> outputs) {
  const std::size_t in = input_width(layer.spec);
  const std::size_t out = output_width(layer.spec);
  const std::size_t tokens = inputs.size() / in;
  expects(tokens >= 1 && tokens <= states.blocks.size(), "every token of a step has a state block");
  RunningState state = load(accepted_state(layer, states));
  const bool shares = shares_conv(layer, states);
  std::vector<float> recent = state.conv;  // (K-1 + tokens, channel); all but the first step is kept
  for (std::size_t token = 0; token < tokens; ++token) {
    run_chunks(layer, inputs.subspan(token * in, in), 1, state, outputs.subspan(token * out, out));
    StateView to = plain(layer, states.blocks[token]);
    if (shares) {
      to.conv.base = nullptr;
      recent.insert(recent.end(), state.conv.end() - conv_channels(layer.spec), state.conv.end());
    }
    store(state, to);
  }
  if (!shares) return;
  const std::int64_t steps = conv_taps(layer.spec) - 2 + static_cast<std::int64_t>(tokens);
  store_tensor(steps_of(states.blocks[0].conv, 0, steps), std::span(recent).subspan(conv_channels(layer.spec)));
}

void copy_accepted(const RecurrentLayer& layer, const DraftStates& states, const StateView& to) {
  copy_state(accepted_state(layer, states), plain(layer, to));
}

}  // namespace hybridkv
