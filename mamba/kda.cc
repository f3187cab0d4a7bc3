#include "mamba/kda.h"

#include <fmt/format.h>

#include <cmath>

#include "mamba/activations.h"
#include "mamba/chunk_rows.h"
#include "mamba/head_recurrence.h"
#include "mamba/reduction.h"
#include "mamba/reference_step.h"

namespace hybridkv {

namespace {

constexpr double largest_log_decay = 1000;  // e^-1000 is 0 in every format

void check_kda(const KdaSpec& layer, const std::string& path) {
  if (!(layer.log_decay_limit >= 0 && layer.log_decay_limit <= largest_log_decay))
    throw SpecError(path + ".log_decay_limit", fmt::format("must be 0 (no limit) to {}, is {}", largest_log_decay,
                                                           layer.log_decay_limit));
}

}  // namespace

const FamilyTable<KdaSpec>& family_of(const KdaSpec&) {
  static const FamilyTable<KdaSpec> table{
      .name = "kda",
      .doc = "Kimi delta attention (Kimi-Linear); its recurrent state is fp32.",
      .fields = {{.name = "heads",
                  .doc = "heads H of the whole model",
                  .member = &KdaSpec::heads,
                  .published_doc = "heads of Kimi delta attention",
                  .published = {{"kimi_linear", {"num_heads"}}}},
                 {.name = "head_dim",
                  .doc = "channels D of one head, of q, k and v alike",
                  .member = &KdaSpec::head_dim,
                  .published_doc = "channels of one of its heads",
                  .published = {{"kimi_linear", {"head_dim"}}}},
                 {.name = "conv_kernel",
                  .doc = "taps K of the convolution, of which the state keeps K - 1",
                  .member = &KdaSpec::conv_kernel,
                  .published_doc = "taps of the convolution",
                  .published = {{"kimi_linear", {"short_conv_kernel_size"}},
                                {"bailing_hybrid", {"short_conv_kernel_size"}}}},
                 {.name = "conv_holds_drafts",
                  .doc = "true where the convolution state grows with the speculative tokens",
                  .member = &KdaSpec::conv_holds_drafts},
                 {.name = "log_decay_limit",
                  .doc = "largest -log of a token's decay where the layer bounds it (5 in Ling and GLM-5.3); changes "
                         "what is computed, no size",
                  .member = &KdaSpec::log_decay_limit,
                  .default_note = "no limit"}},
      .check = check_kda,
      .ssm_dtype = DType::fp32};  // source: vLLM MambaStateDtypeCalculator
  return table;
}

StateSpec state_of(const KdaSpec& layer, const StateContext& context) {
  const Axis heads{"head", share_of_rank(layer.heads, "heads", "kda", context), 0};
  const std::int64_t drafts = layer.conv_holds_drafts ? context.speculative_tokens : 0;
  const std::int64_t spare = context.kda_keeps_all_taps ? 1 : 0;
  const Axis steps{"step", Checked(layer.conv_kernel) - 1 + drafts + spare, 0};
  const Axis channels{"channel", 3 * Checked(layer.heads) * layer.head_dim / context.tensor_parallel, 0};
  return place_state_tensors({
      {"conv", context.conv_dtype, Layout({steps, channels}), 0},
      {"ssm", context.ssm_dtype, Layout({heads, {"value", layer.head_dim, 0}, {"key", layer.head_dim, 0}}), 0},
  });
}

std::vector<AxisRule> axis_rules(const KdaSpec& layer, const StateContext& context) {
  return {context.kda_keeps_all_taps ? AxisRule{"conv", "step", "K", {{"K", layer.conv_kernel}}}
                                     : conv_steps_rule(layer.conv_kernel, context, layer.conv_holds_drafts),
          {"conv", "channel", "3 * heads * head dim / TP",
           {{"heads", layer.heads}, {"head dim", layer.head_dim}, {"TP", context.tensor_parallel}}},
          split_axis_rule("ssm", "head", "heads", layer.heads, context),
          whole_axis_rule("value", "head dim", layer.head_dim),
          whole_axis_rule("key", "head dim", layer.head_dim)};
}

LayerSizes sizes_of(const KdaSpec& layer) {
  const std::int64_t width = layer.heads * layer.head_dim;
  return {.input = 4 * width + layer.heads,
          .output = width,
          .conv_channels = 3 * width,
          .conv_taps = layer.conv_kernel,
          .conv_holds_drafts = layer.conv_holds_drafts,
          .decay_log = layer.heads,
          .step_bias = width};
}

std::vector<ChannelSection> sections_of(const KdaSpec& layer) {
  return {{"q", layer.heads, layer.head_dim}, {"k", layer.heads, layer.head_dim}, {"v", layer.heads, layer.head_dim}};
}

KdaSpec part_of_rank(KdaSpec layer, std::int64_t ranks) {
  layer.heads /= ranks;
  return layer;
}

KdaSpec reduced(KdaSpec layer, const Reduction& reduction) {
  layer.heads = reduction.heads(layer.heads);
  layer.head_dim = reduction.channels(layer.head_dim);
  return layer;
}

void run_token(const KdaSpec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output) {
  using reference::Row;
  const std::int64_t dim = spec.head_dim;
  const std::int64_t width = spec.heads * dim;
  const std::vector<double> qkv = reference::silu_of(reference::convolve(weights, input.first(3 * width), state.conv));
  for (std::int64_t head = 0; head < spec.heads; ++head) {
    std::vector<double> decay(dim);
    for (std::int64_t i = 0; i < dim; ++i)
      decay[i] = std::exp(log_decay(std::exp(double{weights.decay_log[head]}),
                                    input[3 * width + head * dim + i] + weights.step_bias[head * dim + i],
                                    spec.log_decay_limit));
    reference::delta_rule(reference::unit_length(Row(qkv).subspan(head * dim, dim)),
                          reference::unit_length(Row(qkv).subspan(width + head * dim, dim)),
                          Row(qkv).subspan(2 * width + head * dim, dim), decay, sigmoid(input[4 * width + head]),
                          std::span(state.ssm).subspan(head * dim * dim, dim * dim),
                          output.subspan(head * dim, dim));
  }
}

void run_chunk(const KdaSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state) {
  const std::int64_t dim = spec.head_dim;
  const std::int64_t width = spec.heads * dim;
  std::vector<float> qkv = convolve_and_activate(weights, rows, state);
  std::vector<float> log_decays(static_cast<std::size_t>(rows.tokens * dim));
  std::vector<float> beta(static_cast<std::size_t>(rows.tokens));
  for (std::int64_t head = 0; head < spec.heads; ++head) {
    const float rate = std::exp(weights.decay_log[head]);
    const float limit = static_cast<float>(spec.log_decay_limit);
    for (std::int64_t token = 0; token < rows.tokens; ++token) {
      float* q = qkv.data() + token * 3 * width + head * dim;
      make_unit_length(q, dim, 1 / std::sqrt(static_cast<float>(dim)));
      make_unit_length(q + width, dim, 1);
      const float* gates = rows.input(token) + 3 * width;
      for (std::int64_t i = head * dim; i < (head + 1) * dim; ++i)
        log_decays[token * dim + i - head * dim] = log_decay(rate, gates[i] + weights.step_bias[i], limit);
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

}  // namespace hybridkv
