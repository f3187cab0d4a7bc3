#include "mamba/stream_convs.h"

#include <algorithm>

#include "mamba/causal_conv.h"
#include "mamba/chunk_rows.h"
#include "mamba/reduction.h"
#include "mamba/reference_step.h"

namespace hybridkv {

namespace {

/// Of all streams of a layer, or of those that one rank keeps.
std::int64_t stream_channels(const StreamConvsSpec& layer) {
  return 2 * (Checked(layer.kv_heads) * layer.head_dim + layer.hidden_size);
}

}  // namespace

const FamilyTable<StreamConvsSpec>& family_of(const StreamConvsSpec&) {
  static const FamilyTable<StreamConvsSpec> table{
      .name = "stream_convs",
      .doc = "Short convolutions of k, v and what attention and MLP give, beside attention in one layer (Inkling).",
      .fields = {{.name = "kv_heads", .doc = "KV heads of the whole model", .member = &StreamConvsSpec::kv_heads},
                 {.name = "head_dim",
                  .doc = "channels D of one head, of k and v alike",
                  .member = &StreamConvsSpec::head_dim},
                 {.name = "hidden_size",
                  .doc = "channels E of what attention and MLP give",
                  .member = &StreamConvsSpec::hidden_size,
                  .published_doc = "channels of the model",
                  .published = {{"inkling", {"hidden_size"}}}},
                 {.name = "conv_kernel",
                  .doc = "taps K of every convolution, of which the state keeps K - 1",
                  .member = &StreamConvsSpec::conv_kernel,
                  .minimum = 2,
                  .published_doc = "taps of the convolutions",
                  .published = {{"inkling", {"sconv_kernel_size", "conv_kernel_size"}}}},
                 {.name = "scattered",
                  .doc = "true where ranks split what attention and MLP give too",
                  .member = &StreamConvsSpec::scattered}},
      .convolves_alone = true};
  return table;
}

StateSpec state_of(const StreamConvsSpec& layer, const StateContext& context) {
  StreamConvsSpec part = layer;
  part.kv_heads = share_of_rank(layer.kv_heads, "KV heads", "stream_convs", context);
  if (layer.scattered) part.hidden_size = share_of_rank(layer.hidden_size, "channels", "stream_convs", context);
  return place_state_tensors(
      {{"conv", context.conv_dtype,
        Layout({{"step", layer.conv_kernel - 1, 0}, {"channel", stream_channels(part), 0}}), 0}});
}

std::vector<AxisRule> axis_rules(const StreamConvsSpec& layer, const StateContext& context) {
  return {conv_steps_rule(layer.conv_kernel, context, false),
          {"conv", "channel",
           layer.scattered ? "2 * (KV heads * head dim + hidden size) / TP"
                           : "2 * KV heads * head dim / TP + 2 * hidden size, whole on every rank",
           {{"KV heads", layer.kv_heads}, {"head dim", layer.head_dim}, {"hidden size", layer.hidden_size},
            {"TP", context.tensor_parallel}}}};
}

LayerSizes sizes_of(const StreamConvsSpec& layer) {
  const std::int64_t channels = stream_channels(layer);
  return {.input = channels, .output = channels, .conv_channels = channels, .conv_taps = layer.conv_kernel};
}

std::vector<ChannelSection> sections_of(const StreamConvsSpec& layer) {
  const std::int64_t parts = layer.scattered ? layer.hidden_size : 1;
  return {{"k", layer.kv_heads, layer.head_dim},
          {"v", layer.kv_heads, layer.head_dim},
          {"attention", parts, layer.hidden_size / parts},
          {"mlp", parts, layer.hidden_size / parts}};
}

StreamConvsSpec part_of_rank(StreamConvsSpec layer, std::int64_t ranks) {
  layer.kv_heads /= ranks;
  if (layer.scattered) layer.hidden_size /= ranks;
  return layer;
}

StreamConvsSpec reduced(StreamConvsSpec layer, const Reduction& reduction) {
  layer.kv_heads = reduction.heads(layer.kv_heads);
  layer.head_dim = reduction.channels(layer.head_dim);
  layer.hidden_size = reduction.width(layer.hidden_size);
  return layer;
}

void run_token(const StreamConvsSpec&, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output) {
  const std::vector<double> convolved = reference::convolve(weights, input, state.conv);
  std::copy(convolved.begin(), convolved.end(), output.begin());
}

void run_chunk(const StreamConvsSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows,
               RunningState& state) {
  const std::int64_t width = stream_channels(spec);
  const std::vector<float> convolved =
      causal_conv(columns(rows, 0, width), state.conv, weights.conv, weights.conv_bias);
  for (std::int64_t token = 0; token < rows.tokens; ++token)
    std::copy_n(convolved.data() + token * width, width, rows.output(token));
}

}  // namespace hybridkv
