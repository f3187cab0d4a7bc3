#include "mamba/mamba1.h"

#include <cmath>

#include "mamba/activations.h"
#include "mamba/chunk_rows.h"
#include "mamba/reduction.h"
#include "mamba/reference_step.h"
#include "mamba/selective_scan.h"

namespace hybridkv {

const FamilyTable<Mamba1Spec>& family_of(const Mamba1Spec&) {
  static const FamilyTable<Mamba1Spec> table{
      .name = "mamba1",
      .doc = "A Mamba layer of the first kind (Jamba, Plamo2).",
      .fields = {{.name = "inner_size",
                  .doc = "channels d_inner after the expansion",
                  .member = &Mamba1Spec::inner_size},
                 {.name = "state_size",
                  .doc = "size d_state of the state of one channel",
                  .member = &Mamba1Spec::state_size,
                  .published_doc = "size of the state of one channel",
                  .published = {{"jamba", {"mamba_d_state"}}, {"mamba", {"state_size"}}}},
                 {.name = "conv_kernel",
                  .doc = "taps K of the convolution, of which the state keeps K - 1",
                  .member = &Mamba1Spec::conv_kernel,
                  .published_doc = "taps of the convolution",
                  .published = {{"jamba", {"mamba_d_conv"}}, {"mamba", {"conv_kernel"}}}}}};
  return table;
}

StateSpec state_of(const Mamba1Spec& layer, const StateContext& context) {
  const Axis channels{"channel", share_of_rank(layer.inner_size, "channels", "mamba1", context), 0};
  return place_state_tensors({
      {"conv", context.conv_dtype, Layout({{"step", layer.conv_kernel - 1, 0}, channels}), 0},
      {"ssm", context.ssm_dtype, Layout({channels, {"state", layer.state_size, 0}}), 0},
  });
}

std::vector<AxisRule> axis_rules(const Mamba1Spec& layer, const StateContext& context) {
  return {conv_steps_rule(layer.conv_kernel, context, false),
          split_axis_rule("conv", "channel", "d_inner", layer.inner_size, context),
          split_axis_rule("ssm", "channel", "d_inner", layer.inner_size, context),
          whole_axis_rule("state", "d_state", layer.state_size)};
}

LayerSizes sizes_of(const Mamba1Spec& layer) {
  return {.input = 2 * layer.inner_size + 2 * layer.state_size,
          .output = layer.inner_size,
          .conv_channels = layer.inner_size,
          .conv_taps = layer.conv_kernel,
          .decay_log = layer.inner_size * layer.state_size,
          .step_bias = layer.inner_size,
          .skip = layer.inner_size};
}

std::vector<ChannelSection> sections_of(const Mamba1Spec& layer) {
  return {{"x", layer.inner_size, 1}};
}

Mamba1Spec part_of_rank(Mamba1Spec layer, std::int64_t ranks) {
  layer.inner_size /= ranks;
  return layer;
}

Mamba1Spec reduced(Mamba1Spec layer, const Reduction& reduction) {
  layer.inner_size = reduction.width(layer.inner_size);
  layer.state_size = reduction.channels(layer.state_size);
  return layer;
}

void run_token(const Mamba1Spec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output) {
  using reference::Row;
  const std::int64_t inner = spec.inner_size;
  const std::int64_t size = spec.state_size;
  const std::vector<double> x = reference::silu_of(reference::convolve(weights, input.first(inner), state.conv));
  const Row dt = input.subspan(inner, inner);
  const Row b = input.subspan(2 * inner, size);
  const Row c = input.subspan(2 * inner + size, size);
  for (std::int64_t i = 0; i < inner; ++i) {
    const double d = softplus(dt[i] + weights.step_bias[i]);
    output[i] = weights.skip[i] * x[i];
    for (std::int64_t n = 0; n < size; ++n) {
      double& s = state.ssm[i * size + n];
      s = std::exp(-std::exp(double{weights.decay_log[i * size + n]}) * d) * s + d * b[n] * x[i];
      output[i] += c[n] * s;
    }
  }
}

void run_chunk(const Mamba1Spec& spec, const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state) {
  const std::int64_t inner = spec.inner_size;
  const std::vector<float> x = convolve_and_activate(weights, rows, state);
  std::vector<float> step = columns(rows, inner, inner);
  for (std::int64_t token = 0; token < rows.tokens; ++token)
    for (std::int64_t i = 0; i < inner; ++i) {
      float& d = step[token * inner + i];
      d = softplus(d + weights.step_bias[i]);
      rows.output(token)[i] = weights.skip[i] * x[token * inner + i];
    }
  std::vector<float> rate = weights.decay_log;
  for (float& value : rate) value = std::exp(value);
  run_scan_chunk({.tokens = rows.tokens, .channels = inner, .state_size = spec.state_size, .x = x.data(),
                  .step = step.data(), .b = rows.inputs + 2 * inner, .c = rows.inputs + 2 * inner + spec.state_size,
                  .bc_stride = rows.input_width, .decay_rate = rate.data(), .output = rows.outputs},
                 state.ssm);
}

}  // namespace hybridkv
