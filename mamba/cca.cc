#include "mamba/cca.h"

#include <fmt/format.h>

#include <algorithm>

#include "mamba/causal_conv.h"
#include "mamba/chunk_rows.h"
#include "mamba/reduction.h"
#include "mamba/reference_step.h"

namespace hybridkv {

namespace {

std::int64_t mixed_heads(const CcaSpec& layer) { return Checked(layer.query_heads) + layer.kv_heads; }
std::int64_t mixed_channels(const CcaSpec& layer) { return Checked(mixed_heads(layer)) * layer.head_dim; }
/// Tokens before the newest that both convolutions read.
std::int64_t kept_rows(const CcaSpec& layer) { return Checked(layer.depthwise_kernel) + layer.grouped_kernel - 2; }

void check_cca(const CcaSpec& layer, const std::string& path) {
  check_shared_evenly(layer.query_heads, "query heads", layer.kv_heads, "KV heads", path + ".query_heads");
}

/// What the first convolution gives of one channel, of so many taps from `first` on.
double depthwise(const RecurrentWeights& weights, const std::vector<double>& history, std::int64_t first,
                 std::int64_t taps, std::int64_t channels, std::int64_t channel) {
  double sum = weights.conv_bias[channel];
  for (std::int64_t tap = 0; tap < taps; ++tap)
    sum += history[(first + tap) * channels + channel] * weights.conv[tap * channels + channel];
  return sum;
}

/// The second convolution's output of one token, from rows of the first.
void mix_heads(const CcaSpec& spec, const RecurrentWeights& weights, const float* rows, float* output) {
  const std::int64_t size = spec.head_dim, channels = mixed_channels(spec);
  std::copy(weights.step_bias.begin(), weights.step_bias.end(), output);
  const float* weight = weights.gates.data();
  for (std::int64_t tap = 0; tap < spec.grouped_kernel; ++tap)
    for (std::int64_t channel = 0; channel < channels; ++channel, weight += size) {
      const float input = rows[tap * channels + channel];
      float* of_head = output + channel / size * size;
      for (std::int64_t i = 0; i < size; ++i) of_head[i] += input * weight[i];
    }
}

}  // namespace

const FamilyTable<CcaSpec>& family_of(const CcaSpec&) {
  static const FamilyTable<CcaSpec> table{
      .name = "cca",
      .doc = "The convolutions of compressed convolutional attention, beside attention in one layer (ZAYA1).",
      .fields = {{.name = "query_heads",
                  .doc = "query heads of the whole model",
                  .member = &CcaSpec::query_heads,
                  .published_doc = "query heads",
                  .published = {{"zaya", {"num_attention_heads"}}}},
                 {.name = "kv_heads",
                  .doc = "key heads of the whole model",
                  .member = &CcaSpec::kv_heads,
                  .published_doc = "key heads",
                  .published = {{"zaya", {"num_key_value_heads"}}}},
                 {.name = "head_dim",
                  .doc = "channels D of one head",
                  .member = &CcaSpec::head_dim,
                  .published_doc = "channels of one head",
                  .published = {{"zaya", {"head_dim"}}}},
                 {.name = "depthwise_kernel",
                  .doc = "taps K0 of the first convolution",
                  .member = &CcaSpec::depthwise_kernel,
                  .published_doc = "taps of the first convolution",
                  .published = {{"zaya", {"cca_time0"}}}},
                 {.name = "grouped_kernel",
                  .doc = "taps K1 of the second convolution, behind the first; the state keeps K0 + K1 - 2 rows",
                  .member = &CcaSpec::grouped_kernel,
                  .published_doc = "taps of the second convolution",
                  .published = {{"zaya", {"cca_time1"}}}},
                 {.name = "delayed_size",
                  .doc = "values kept of the token before: half of v, or the hidden state where an engine keeps that",
                  .member = &CcaSpec::delayed_size}},
      .check = check_cca,
      .convolves_alone = true};
  return table;
}

StateSpec state_of(const CcaSpec& layer, const StateContext& context) {
  const std::int64_t ranks = context.tensor_parallel;
  if (layer.query_heads % ranks != 0 || layer.kv_heads % ranks != 0)
    throw SpecError("engine.tensor_parallel",
                    fmt::format("{} ranks cannot share {} query heads and {} KV heads of a cca layer; "
                                "take a divisor of both: {}",
                                ranks, layer.query_heads, layer.kv_heads,
                                divisors_text(std::gcd(layer.query_heads, layer.kv_heads))));
  const Axis channels{"channel", mixed_channels(layer) / ranks, 0};
  return place_state_tensors(
      {{"conv", context.conv_dtype, Layout({{"step", kept_rows(layer), 0}, channels}), 0},
       {"ssm", context.conv_dtype, Layout({{"token", 1, 0}, {"channel", layer.delayed_size, 0}}), 0}});
}

std::vector<AxisRule> axis_rules(const CcaSpec& layer, const StateContext& context) {
  return {{"conv", "step", "K0 - 1 + K1 - 1", {{"K0", layer.depthwise_kernel}, {"K1", layer.grouped_kernel}}},
          {"conv", "channel", "(query heads + KV heads) * head dim / TP",
           {{"query heads", layer.query_heads}, {"KV heads", layer.kv_heads}, {"head dim", layer.head_dim},
            {"TP", context.tensor_parallel}}},
          {"ssm", "token", "the token before", {{"tokens", 1}}},
          {"ssm", "channel", "delayed values, whole on every rank", {{"delayed values", layer.delayed_size}}}};
}

LayerSizes sizes_of(const CcaSpec& layer) {
  const std::int64_t channels = mixed_channels(layer);
  return {.input = channels + layer.delayed_size,
          .output = channels + layer.delayed_size,
          .conv_channels = channels,
          .conv_taps = kept_rows(layer) + 1,
          .weight_taps = layer.depthwise_kernel,
          .step_bias = channels,
          .gates = layer.grouped_kernel * channels * layer.head_dim,
          .gate_inputs = layer.head_dim};
}

std::vector<ChannelSection> sections_of(const CcaSpec& layer) {
  return {{"q", layer.query_heads, layer.head_dim}, {"k", layer.kv_heads, layer.head_dim}};
}

CcaSpec part_of_rank(CcaSpec layer, std::int64_t ranks) {
  layer.query_heads /= ranks;
  layer.kv_heads /= ranks;
  return layer;
}

CcaSpec reduced(CcaSpec layer, const Reduction& reduction) {
  const std::int64_t queries_per_key = layer.query_heads / layer.kv_heads;
  layer.kv_heads = reduction.heads(layer.kv_heads);
  layer.query_heads = layer.kv_heads * queries_per_key;
  layer.head_dim = reduction.channels(layer.head_dim);
  layer.delayed_size = reduction.width(layer.delayed_size);
  return layer;
}

void run_token(const CcaSpec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output) {
  const std::int64_t channels = mixed_channels(spec), size = spec.head_dim;
  state.conv.insert(state.conv.end(), input.begin(), input.begin() + channels);
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    output[channel] = weights.step_bias[channel];
    const std::int64_t head = channel / size;
    for (std::int64_t tap = 0; tap < spec.grouped_kernel; ++tap)
      for (std::int64_t i = 0; i < size; ++i)
        output[channel] += weights.gates[((tap * mixed_heads(spec) + head) * size + i) * size + channel % size] *
                           depthwise(weights, state.conv, tap, spec.depthwise_kernel, channels, head * size + i);
  }
  state.conv.erase(state.conv.begin(), state.conv.begin() + channels);
  std::copy(state.ssm.begin(), state.ssm.end(), output.begin() + channels);
  state.ssm.assign(input.begin() + channels, input.end());
}

/// Both convolutions run over all rows of the chunk, the second over what the first gives of the rows before it too.
void run_chunk(const CcaSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state) {
  const std::int64_t channels = mixed_channels(spec);
  std::vector<float> joined = state.conv;
  const std::vector<float> inputs = columns(rows, 0, channels);
  joined.insert(joined.end(), inputs.begin(), inputs.end());
  state.conv.assign(joined.end() - kept_rows(spec) * channels, joined.end());
  const auto read_first = joined.begin() + (spec.depthwise_kernel - 1) * channels;
  std::vector<float> history(joined.begin(), read_first);
  const std::vector<float> between = causal_conv(std::vector<float>(read_first, joined.end()), history, weights.conv,
                                                 weights.conv_bias);
  for (std::int64_t token = 0; token < rows.tokens; ++token) {
    mix_heads(spec, weights, between.data() + token * channels, rows.output(token));
    const float* before = token == 0 ? state.ssm.data() : rows.input(token - 1) + channels;
    std::copy_n(before, spec.delayed_size, rows.output(token) + channels);
  }
  state.ssm.assign(rows.input(rows.tokens - 1) + channels, rows.input(rows.tokens));
}

}  // namespace hybridkv
