#include "mamba/gdn.h"

#include <fmt/format.h>

#include <cmath>

#include "mamba/activations.h"
#include "mamba/chunk_rows.h"
#include "mamba/head_recurrence.h"
#include "mamba/reduction.h"
#include "mamba/reference_step.h"

namespace hybridkv {

namespace {

void check_gdn(const GdnSpec& layer, const std::string& path) {
  check_shared_evenly(layer.value_heads, "value heads", layer.key_heads, "key heads", path + ".value_heads");
}

GdnSpec padded(GdnSpec layer, std::int64_t ranks) {
  if (layer.key_heads % ranks == 0) return layer;  // so do the value heads, a multiple of them
  const std::int64_t values_per_key = layer.value_heads / layer.key_heads;
  layer.key_heads = round_up(layer.key_heads, ranks);
  layer.value_heads = Checked(values_per_key) * layer.key_heads;
  return layer;
}

}  // namespace

const FamilyTable<GdnSpec>& family_of(const GdnSpec&) {
  static const FamilyTable<GdnSpec> table{
      .name = "gdn",
      .doc = "A gated delta net (Qwen3-Next, Qwen3.5, Olmo-hybrid).",
      .fields = {{.name = "key_heads",
                  .doc = "key heads Hk of the whole model",
                  .member = &GdnSpec::key_heads,
                  .published_doc = "key heads of the gated delta net",
                  .published = {{"qwen3_next", {"linear_num_key_heads"}}}},
                 {.name = "value_heads",
                  .doc = "value heads Hv of the whole model",
                  .member = &GdnSpec::value_heads,
                  .published_doc = "value heads of the gated delta net",
                  .published = {{"qwen3_next", {"linear_num_value_heads"}}}},
                 {.name = "key_head_dim",
                  .doc = "channels Dk of a key head",
                  .member = &GdnSpec::key_head_dim,
                  .published_doc = "channels of a key head",
                  .published = {{"qwen3_next", {"linear_key_head_dim"}}}},
                 {.name = "value_head_dim",
                  .doc = "channels Dv of a value head",
                  .member = &GdnSpec::value_head_dim,
                  .published_doc = "channels of a value head",
                  .published = {{"qwen3_next", {"linear_value_head_dim"}}}},
                 {.name = "conv_kernel",
                  .doc = "taps K of the convolution, of which the state keeps K - 1",
                  .member = &GdnSpec::conv_kernel,
                  .published_doc = "taps of the convolution",
                  .published = {{"qwen3_next", {"linear_conv_kernel_dim"}}}},
                 {.name = "doubled_beta",
                  .doc = "true where beta is 2 * sigmoid(b), as in Olmo-hybrid; changes what is computed, no size",
                  .member = &GdnSpec::doubled_beta}},
      .check = check_gdn,
      .padded = padded};
  return table;
}

StateSpec state_of(const GdnSpec& layer, const StateContext& context) {
  const std::int64_t ranks = context.tensor_parallel;
  if (layer.key_heads % ranks != 0 || layer.value_heads % ranks != 0)
    throw SpecError("engine.tensor_parallel",
                    fmt::format("{} ranks cannot share {} key heads and {} value heads of a gdn layer; "
                                "take a divisor of both: {}",
                                ranks, layer.key_heads, layer.value_heads,
                                divisors_text(std::gcd(layer.key_heads, layer.value_heads))));
  const Checked key_width = Checked(layer.key_heads) * layer.key_head_dim;
  const Checked value_width = Checked(layer.value_heads) * layer.value_head_dim;
  const Axis steps{"step", Checked(layer.conv_kernel) - 1 + context.speculative_tokens, 0};
  const Axis channels{"channel", (2 * key_width + value_width) / ranks, 0};
  const Axis heads{"head", layer.value_heads / ranks, 0};
  return place_state_tensors({
      {"conv", context.conv_dtype, Layout({steps, channels}), 0},
      {"ssm", context.ssm_dtype,
       Layout({heads, {"value", layer.value_head_dim, 0}, {"key", layer.key_head_dim, 0}}), 0},
  });
}

std::vector<AxisRule> axis_rules(const GdnSpec& layer, const StateContext& context) {
  return {conv_steps_rule(layer.conv_kernel, context),
          {"conv", "channel", "(2 * key heads * key dim + value heads * value dim) / TP",
           {{"key heads", layer.key_heads}, {"key dim", layer.key_head_dim}, {"value heads", layer.value_heads},
            {"value dim", layer.value_head_dim}, {"TP", context.tensor_parallel}}},
          split_axis_rule("ssm", "head", "value heads", layer.value_heads, context),
          whole_axis_rule("value", "value dim", layer.value_head_dim),
          whole_axis_rule("key", "key dim", layer.key_head_dim)};
}

LayerSizes sizes_of(const GdnSpec& layer) {
  const std::int64_t values = layer.value_heads * layer.value_head_dim;
  const std::int64_t channels = 2 * layer.key_heads * layer.key_head_dim + values;
  return {.input = channels + 2 * layer.value_heads,
          .output = values,
          .conv_channels = channels,
          .conv_taps = layer.conv_kernel,
          .conv_holds_drafts = true,
          .decay_log = layer.value_heads,
          .step_bias = layer.value_heads};
}

std::vector<ChannelSection> sections_of(const GdnSpec& layer) {
  return {{"q", layer.key_heads, layer.key_head_dim},
          {"k", layer.key_heads, layer.key_head_dim},
          {"v", layer.value_heads, layer.value_head_dim}};
}

GdnSpec part_of_rank(GdnSpec layer, std::int64_t ranks) {
  layer.key_heads /= ranks;
  layer.value_heads /= ranks;
  return layer;
}

GdnSpec reduced(GdnSpec layer, const Reduction& reduction) {
  const std::int64_t values_per_key = layer.value_heads / layer.key_heads;
  layer.key_heads = reduction.heads(layer.key_heads);
  layer.value_heads = layer.key_heads * values_per_key;
  layer.key_head_dim = reduction.channels(layer.key_head_dim);
  layer.value_head_dim = reduction.channels(layer.value_head_dim);
  return layer;
}

void run_token(const GdnSpec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output) {
  using reference::Row;
  const std::int64_t keys = spec.key_heads * spec.key_head_dim;
  const std::int64_t values = spec.value_heads * spec.value_head_dim;
  const std::vector<double> qkv =
      reference::silu_of(reference::convolve(weights, input.first(2 * keys + values), state.conv));
  const Row b = input.subspan(2 * keys + values, spec.value_heads);
  const Row a = input.subspan(2 * keys + values + spec.value_heads, spec.value_heads);
  for (std::int64_t head = 0; head < spec.value_heads; ++head) {
    const std::int64_t key_head = head / (spec.value_heads / spec.key_heads);
    const double decay =
        std::exp(-std::exp(double{weights.decay_log[head]}) * softplus(a[head] + weights.step_bias[head]));
    const std::int64_t size = spec.key_head_dim * spec.value_head_dim;
    reference::delta_rule(
        reference::unit_length(Row(qkv).subspan(key_head * spec.key_head_dim, spec.key_head_dim)),
        reference::unit_length(Row(qkv).subspan(keys + key_head * spec.key_head_dim, spec.key_head_dim)),
        Row(qkv).subspan(2 * keys + head * spec.value_head_dim, spec.value_head_dim),
        std::vector<double>(spec.key_head_dim, decay), (spec.doubled_beta ? 2 : 1) * sigmoid(b[head]),
        std::span(state.ssm).subspan(head * size, size),
        output.subspan(head * spec.value_head_dim, spec.value_head_dim));
  }
}

void run_chunk(const GdnSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state) {
  const std::int64_t keys = spec.key_heads * spec.key_head_dim;
  const std::int64_t channels = 2 * keys + spec.value_heads * spec.value_head_dim;
  std::vector<float> qkv = convolve_and_activate(weights, rows, state);
  const std::int64_t values_per_key = spec.value_heads / spec.key_heads;
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
    const float rate = std::exp(weights.decay_log[head]);
    for (std::int64_t token = 0; token < rows.tokens; ++token) {
      const float* gates = rows.input(token) + channels + head;
      beta[token] = (spec.doubled_beta ? 2 : 1) * sigmoid(gates[0]);
      log_decay[token] = -rate * softplus(gates[spec.value_heads] + weights.step_bias[head]);
    }
    const float* q = qkv.data() + head / values_per_key * spec.key_head_dim;
    run_head_chunk({.tokens = rows.tokens, .key_dim = spec.key_head_dim, .value_dim = spec.value_head_dim,
                    .query = {q, channels}, .key = {q + keys, channels},
                    .value = {qkv.data() + 2 * keys + head * spec.value_head_dim, channels},
                    .log_decay = {log_decay.data(), 1}, .beta = beta.data(),
                    .output = rows.outputs + head * spec.value_head_dim, .output_stride = rows.output_width},
                   state.ssm.data() + head * spec.value_head_dim * spec.key_head_dim);
  }
}

}  // namespace hybridkv
