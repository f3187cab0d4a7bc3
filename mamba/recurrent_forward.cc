#include "mamba/recurrent_forward.h"

#include <algorithm>
#include <cmath>

#include "layout/slice.h"
#include "mamba/activations.h"
#include "mamba/causal_conv.h"
#include "mamba/head_recurrence.h"
#include "mamba/selective_scan.h"

namespace hybridkv {

namespace {

/// A state while it is computed with.
struct RunningState {
  std::vector<float> conv;  ///< (K-1, channel)
  std::vector<float> ssm;
};

/// Inputs and outputs of one chunk.
struct InputRows {
  std::int64_t tokens;
  const float* inputs;
  std::int64_t input_width;
  float* outputs;
  std::int64_t output_width;

  const float* input(std::int64_t token) const { return inputs + token * input_width; }
  float* output(std::int64_t token) const { return outputs + token * output_width; }
};

/// Columns [first, first + width) of the inputs, one row after the other.
std::vector<float> columns(const InputRows& rows, std::int64_t first, std::int64_t width) {
  std::vector<float> part(static_cast<std::size_t>(rows.tokens * width));
  for (std::int64_t token = 0; token < rows.tokens; ++token)
    std::copy_n(rows.input(token) + first, width, part.data() + token * width);
  return part;
}

std::vector<float> convolve_and_activate(const RecurrentLayer& layer, const InputRows& rows, RunningState& state) {
  std::vector<float> values = causal_conv(columns(rows, 0, conv_channels(layer.spec)), state.conv, layer.weights.conv,
                                          layer.weights.conv_bias);
  for (float& value : values) value = silu(value);
  return values;
}

void make_unit_length(float* values, std::int64_t count, float scale) {
  float sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += values[i] * values[i];
  const float factor = scale / std::sqrt(sum + 1e-6f);
  for (std::int64_t i = 0; i < count; ++i) values[i] *= factor;
}

void run(const Mamba1Spec& spec, const RecurrentLayer& layer, const InputRows& rows, RunningState& state) {
  const std::int64_t inner = spec.inner_size;
  const std::vector<float> x = convolve_and_activate(layer, rows, state);
  std::vector<float> step = columns(rows, inner, inner);
  for (std::int64_t token = 0; token < rows.tokens; ++token)
    for (std::int64_t i = 0; i < inner; ++i) {
      float& d = step[token * inner + i];
      d = softplus(d + layer.weights.step_bias[i]);
      rows.output(token)[i] = layer.weights.skip[i] * x[token * inner + i];
    }
  std::vector<float> rate = layer.weights.decay_log;
  for (float& value : rate) value = std::exp(value);
  run_scan_chunk({.tokens = rows.tokens, .channels = inner, .state_size = spec.state_size, .x = x.data(),
                  .step = step.data(), .b = rows.inputs + 2 * inner, .c = rows.inputs + 2 * inner + spec.state_size,
                  .bc_stride = rows.input_width, .decay_rate = rate.data(), .output = rows.outputs},
                 state.ssm);
}

void run(const Mamba2Spec& spec, const RecurrentLayer& layer, const InputRows& rows, RunningState& state) {
  const std::int64_t inner = spec.heads * spec.head_dim;
  const std::int64_t shared = spec.groups * spec.state_size;
  const std::int64_t channels = inner + 2 * shared;
  const std::vector<float> xbc = convolve_and_activate(layer, rows, state);
  std::vector<float> stepped(static_cast<std::size_t>(rows.tokens * spec.head_dim));  // d x
  std::vector<float> log_decay(static_cast<std::size_t>(rows.tokens));
  for (std::int64_t head = 0; head < spec.heads; ++head) {
    const float rate = std::exp(layer.weights.decay_log[head]);
    const float* x = xbc.data() + head * spec.head_dim;
    for (std::int64_t token = 0; token < rows.tokens; ++token) {
      const float d = softplus(rows.input(token)[channels + head] + layer.weights.step_bias[head]);
      log_decay[token] = -rate * d;
      for (std::int64_t p = 0; p < spec.head_dim; ++p)
        stepped[token * spec.head_dim + p] = d * x[token * channels + p];
    }
    const float* b = xbc.data() + inner + head / (spec.heads / spec.groups) * spec.state_size;
    run_head_chunk({.tokens = rows.tokens, .key_dim = spec.state_size, .value_dim = spec.head_dim,
                    .query = {b + shared, channels}, .key = {b, channels}, .value = {stepped.data(), spec.head_dim},
                    .log_decay = {log_decay.data(), 1}, .output = rows.outputs + head * spec.head_dim,
                    .output_stride = rows.output_width},
                   state.ssm.data() + head * spec.head_dim * spec.state_size);
    for (std::int64_t token = 0; token < rows.tokens; ++token)
      for (std::int64_t p = 0; p < spec.head_dim; ++p)
        rows.output(token)[head * spec.head_dim + p] += layer.weights.skip[head] * x[token * channels + p];
  }
}

void run(const GdnSpec& spec, const RecurrentLayer& layer, const InputRows& rows, RunningState& state) {
  const std::int64_t keys = spec.key_heads * spec.key_head_dim;
  const std::int64_t channels = 2 * keys + spec.value_heads * spec.value_head_dim;
  std::vector<float> qkv = convolve_and_activate(layer, rows, state);
  const float scale = 1 / std::sqrt(static_cast<float>(spec.key_head_dim));
  for (std::int64_t token = 0; token < rows.tokens; ++token)
    for (std::int64_t head = 0; head < spec.key_heads; ++head) {
      float* q = qkv.data() + token * channels + head * spec.key_head_dim;
      make_unit_length(q, spec.key_head_dim, scale);
      make_unit_length(q + keys, spec.key_head_dim, 1);
    }
  std::vector<float> log_decay(static_cast<std::size_t>(rows.tokens));
  std::vector<float> beta(log_decay.size());
  for (std::int64_t head = 0; head < spec.value_heads; ++head) {
    const float rate = std::exp(layer.weights.decay_log[head]);
    for (std::int64_t token = 0; token < rows.tokens; ++token) {
      const float* gates = rows.input(token) + channels + head;
      beta[token] = (spec.doubled_beta ? 2 : 1) * sigmoid(gates[0]);
      log_decay[token] = -rate * softplus(gates[spec.value_heads] + layer.weights.step_bias[head]);
    }
    const float* q = qkv.data() + head / (spec.value_heads / spec.key_heads) * spec.key_head_dim;
    run_head_chunk({.tokens = rows.tokens, .key_dim = spec.key_head_dim, .value_dim = spec.value_head_dim,
                    .query = {q, channels}, .key = {q + keys, channels},
                    .value = {qkv.data() + 2 * keys + head * spec.value_head_dim, channels},
                    .log_decay = {log_decay.data(), 1}, .beta = beta.data(),
                    .output = rows.outputs + head * spec.value_head_dim, .output_stride = rows.output_width},
                   state.ssm.data() + head * spec.value_head_dim * spec.key_head_dim);
  }
}

void run(const KdaSpec& spec, const RecurrentLayer& layer, const InputRows& rows, RunningState& state) {
  const std::int64_t dim = spec.head_dim;
  const std::int64_t width = spec.heads * dim;
  std::vector<float> qkv = convolve_and_activate(layer, rows, state);
  std::vector<float> log_decays(static_cast<std::size_t>(rows.tokens * dim));
  std::vector<float> beta(static_cast<std::size_t>(rows.tokens));
  for (std::int64_t head = 0; head < spec.heads; ++head) {
    const float rate = std::exp(layer.weights.decay_log[head]);
    const float limit = static_cast<float>(spec.log_decay_limit);
    for (std::int64_t token = 0; token < rows.tokens; ++token) {
      float* q = qkv.data() + token * 3 * width + head * dim;
      make_unit_length(q, dim, 1 / std::sqrt(static_cast<float>(dim)));
      make_unit_length(q + width, dim, 1);
      const float* gates = rows.input(token) + 3 * width;
      for (std::int64_t i = head * dim; i < (head + 1) * dim; ++i)
        log_decays[token * dim + i - head * dim] = log_decay(rate, gates[i] + layer.weights.step_bias[i], limit);
      beta[token] = sigmoid(gates[width + head]);
    }
    const float* q = qkv.data() + head * dim;
    run_head_chunk({.tokens = rows.tokens, .key_dim = dim, .value_dim = dim, .query = {q, 3 * width},
                    .key = {q + width, 3 * width}, .value = {q + 2 * width, 3 * width},
                    .log_decay = {log_decays.data(), dim}, .decays_by_channel = true, .beta = beta.data(),
                    .output = rows.outputs + head * dim, .output_stride = rows.output_width},
                   state.ssm.data() + head * dim * dim);
  }
}

void run(const ShortConvSpec& spec, const RecurrentLayer& layer, const InputRows& rows, RunningState& state) {
  const std::int64_t width = spec.channels;
  std::vector<float> gated = columns(rows, 0, width);
  for (std::int64_t token = 0; token < rows.tokens; ++token)
    for (std::int64_t i = 0; i < width; ++i) gated[token * width + i] *= rows.input(token)[2 * width + i];
  const std::vector<float> convolved = causal_conv(gated, state.conv, layer.weights.conv, layer.weights.conv_bias);
  for (std::int64_t token = 0; token < rows.tokens; ++token)
    for (std::int64_t i = 0; i < width; ++i)
      rows.output(token)[i] = rows.input(token)[width + i] * convolved[token * width + i];
}

void run(const LinearAttentionSpec& spec, const RecurrentLayer& layer, const InputRows& rows, RunningState& state) {
  const std::int64_t dim = spec.head_dim;
  const std::int64_t width = spec.heads * dim;
  std::vector<float> qkv = columns(rows, 0, 3 * width);
  for (float& value : qkv) value = silu(value);
  for (std::int64_t head = 0; head < spec.heads; ++head) {
    const std::vector<float> log_decay(static_cast<std::size_t>(rows.tokens),
                                       -std::exp(layer.weights.decay_log[head]));
    const float* q = qkv.data() + head * dim;
    run_head_chunk({.tokens = rows.tokens, .key_dim = dim, .value_dim = dim, .query = {q, 3 * width},
                    .key = {q + width, 3 * width}, .value = {q + 2 * width, 3 * width},
                    .log_decay = {log_decay.data(), 1}, .output = rows.outputs + head * dim,
                    .output_stride = rows.output_width},
                   state.ssm.data() + head * dim * dim);
  }
}

void run_chunks(const RecurrentLayer& layer, std::span<const float> inputs, std::int64_t chunk_tokens,
                RunningState& state, std::span<float> outputs) {
  const std::int64_t in = input_width(layer.spec);
  const std::int64_t out = output_width(layer.spec);
  const std::int64_t tokens = static_cast<std::int64_t>(inputs.size()) / in;
  expects(chunk_tokens >= 1 && static_cast<std::int64_t>(inputs.size()) == tokens * in &&
              static_cast<std::int64_t>(outputs.size()) == tokens * out,
          "inputs and outputs are whole rows of as many tokens");
  for (std::int64_t first = 0; first < tokens; first += chunk_tokens) {
    const InputRows rows{std::min(chunk_tokens, tokens - first), inputs.data() + first * in, in,
                    outputs.data() + first * out, out};
    std::visit([&](const auto& family) { run(family, layer, rows, state); }, layer.spec);
  }
}

/// K-1 steps of a convolution state, from the `first` on.
TensorView window(const RecurrentLayer& layer, const TensorView& conv, std::int64_t first) {
  TensorView part = conv;
  part.layout = slice(conv.layout, "step", first, conv_taps(layer.spec) - 1);
  return part;
}

/// Where the state after the last accepted token lies.
StateView accepted_state(const RecurrentLayer& layer, const DraftStates& states) {
  expects(states.accepted >= 1 && states.accepted <= static_cast<std::int64_t>(states.blocks.size()),
          "at least one token of a step is accepted, at most one a block");
  StateView state = states.blocks[states.accepted - 1];
  if (!state.has_conv()) return state;
  state.conv = conv_holds_drafts(layer.spec) ? window(layer, states.blocks[0].conv, states.accepted - 1)
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
  const bool shares_conv = conv_holds_drafts(layer.spec) && !state.conv.empty();
  std::vector<float> recent = state.conv;  // (K-1 + tokens, channel); all but the first step is kept
  for (std::size_t token = 0; token < tokens; ++token) {
    run_chunks(layer, inputs.subspan(token * in, in), 1, state, outputs.subspan(token * out, out));
    StateView to = plain(layer, states.blocks[token]);
    if (shares_conv) {
      to.conv.base = nullptr;
      recent.insert(recent.end(), state.conv.end() - conv_channels(layer.spec), state.conv.end());
    }
    store(state, to);
  }
  if (!shares_conv) return;
  TensorView conv = states.blocks[0].conv;
  const std::int64_t steps = conv_taps(layer.spec) - 2 + static_cast<std::int64_t>(tokens);
  conv.layout = slice(conv.layout, "step", 0, steps);
  store_tensor(conv, std::span(recent).subspan(conv_channels(layer.spec)));
}

void copy_accepted(const RecurrentLayer& layer, const DraftStates& states, const StateView& to) {
  copy_state(accepted_state(layer, states), plain(layer, to));
}

}  // namespace hybridkv
