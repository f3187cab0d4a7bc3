#include "mamba/short_conv.h"

#include <utility>

#include "mamba/causal_conv.h"
#include "mamba/chunk_rows.h"
#include "mamba/reduction.h"
#include "mamba/reference_step.h"

namespace hybridkv {

const FamilyTable<ShortConvSpec>& family_of(const ShortConvSpec&) {
  static const FamilyTable<ShortConvSpec> table{
      .name = "short_conv",
      .doc = "A gated short convolution (LFM2).",
      .fields = {{.name = "channels", .doc = "channels of the whole model", .member = &ShortConvSpec::channels},
                 {.name = "conv_kernel",
                  .doc = "taps K of the convolution, of which the state keeps K - 1",
                  .member = &ShortConvSpec::conv_kernel,
                  .minimum = 2,
                  .published_doc = "taps of the convolution",
                  .published = {{"lfm2", {"conv_L_cache"}}}},
                 {.name = "replicated",
                  .doc = "true where every rank keeps all channels, as in Qwen3.8-Flash-Next",
                  .member = &ShortConvSpec::replicated}},
      .convolves_alone = true};
  return table;
}

StateSpec state_of(const ShortConvSpec& layer, const StateContext& context) {
  const std::int64_t kept =
      layer.replicated ? layer.channels : share_of_rank(layer.channels, "channels", "short_conv", context);
  const Axis channels{"channel", kept, 0};
  const std::int64_t drafts = layer.conv_holds_drafts ? context.speculative_tokens : 0;
  const std::int64_t steps = Checked(layer.conv_kernel) - 1 + drafts;
  return place_state_tensors({{"conv", context.conv_dtype, Layout({{"step", steps, 0}, channels}), 0}});
}

std::vector<AxisRule> axis_rules(const ShortConvSpec& layer, const StateContext& context) {
  AxisRule channels = split_axis_rule("conv", "channel", "channels", layer.channels, context);
  if (layer.replicated) channels = {"conv", "channel", "channels, whole on every rank", {{"channels", layer.channels}}};
  return {conv_steps_rule(layer.conv_kernel, context, layer.conv_holds_drafts), std::move(channels)};
}

LayerSizes sizes_of(const ShortConvSpec& layer) {
  return {.input = 3 * layer.channels,
          .output = layer.channels,
          .conv_channels = layer.channels,
          .conv_taps = layer.conv_kernel,
          .conv_holds_drafts = layer.conv_holds_drafts};
}

std::vector<ChannelSection> sections_of(const ShortConvSpec& layer) {
  if (layer.replicated) return {{"x", 1, layer.channels}};
  return {{"x", layer.channels, 1}};
}

ShortConvSpec part_of_rank(ShortConvSpec layer, std::int64_t ranks) {
  if (!layer.replicated) layer.channels /= ranks;
  return layer;
}

ShortConvSpec reduced(ShortConvSpec layer, const Reduction& reduction) {
  layer.channels = reduction.width(layer.channels);
  return layer;
}

void run_token(const ShortConvSpec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output) {
  const std::int64_t width = spec.channels;
  std::vector<double> gated(width);
  for (std::int64_t i = 0; i < width; ++i) gated[i] = input[i] * input[2 * width + i];
  const std::vector<double> convolved = reference::convolve(weights, gated, state.conv);
  for (std::int64_t i = 0; i < width; ++i) output[i] = input[width + i] * convolved[i];
}

void run_chunk(const ShortConvSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows,
               RunningState& state) {
  const std::int64_t width = spec.channels;
  std::vector<float> gated = columns(rows, 0, width);
  for (std::int64_t token = 0; token < rows.tokens; ++token)
    for (std::int64_t i = 0; i < width; ++i) gated[token * width + i] *= rows.input(token)[2 * width + i];
  const std::vector<float> convolved = causal_conv(gated, state.conv, weights.conv, weights.conv_bias);
  for (std::int64_t token = 0; token < rows.tokens; ++token)
    for (std::int64_t i = 0; i < width; ++i)
      rows.output(token)[i] = rows.input(token)[width + i] * convolved[token * width + i];
}

}  // namespace hybridkv
