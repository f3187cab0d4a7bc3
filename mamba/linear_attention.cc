#include "mamba/linear_attention.h"

#include <cmath>

#include "mamba/activations.h"
#include "mamba/chunk_rows.h"
#include "mamba/head_recurrence.h"
#include "mamba/reduction.h"
#include "mamba/reference_step.h"

namespace hybridkv {

const FamilyTable<LinearAttentionSpec>& family_of(const LinearAttentionSpec&) {
  static const FamilyTable<LinearAttentionSpec> table{
      .name = "linear",
      .doc = "Linear attention with a fixed decay per head (MiniMax-Text-01, Ling).",
      .fields = {{.name = "heads", .doc = "heads H of the whole model", .member = &LinearAttentionSpec::heads},
                 {.name = "head_dim",
                  .doc = "channels D of one head, of q, k and v alike",
                  .member = &LinearAttentionSpec::head_dim}},
      .least_decay_log = -4,  // the rate alone is the decay, no step scales it
      .largest_decay_log = 0};
  return table;
}

StateSpec state_of(const LinearAttentionSpec& layer, const StateContext& context) {
  const Axis heads{"head", share_of_rank(layer.heads, "heads", "linear", context), 0};
  return place_state_tensors({{"ssm", context.ssm_dtype,
                               Layout({heads, {"value", layer.head_dim, 0}, {"key", layer.head_dim, 0}}), 0}});
}

std::vector<AxisRule> axis_rules(const LinearAttentionSpec& layer, const StateContext& context) {
  return {split_axis_rule("ssm", "head", "heads", layer.heads, context),
          whole_axis_rule("value", "head dim", layer.head_dim),
          whole_axis_rule("key", "head dim", layer.head_dim)};
}

LayerSizes sizes_of(const LinearAttentionSpec& layer) {
  const std::int64_t width = layer.heads * layer.head_dim;
  return {.input = 3 * width, .output = width, .decay_log = layer.heads};
}

std::vector<ChannelSection> sections_of(const LinearAttentionSpec&) { return {}; }

LinearAttentionSpec part_of_rank(LinearAttentionSpec layer, std::int64_t ranks) {
  layer.heads /= ranks;
  return layer;
}

LinearAttentionSpec reduced(LinearAttentionSpec layer, const Reduction& reduction) {
  layer.heads = reduction.heads(layer.heads);
  layer.head_dim = reduction.channels(layer.head_dim);
  return layer;
}

void run_token(const LinearAttentionSpec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output) {
  using reference::Row;
  const std::int64_t dim = spec.head_dim;
  const std::int64_t width = spec.heads * dim;
  const std::vector<double> qkv = reference::silu_of({input.begin(), input.end()});
  for (std::int64_t head = 0; head < spec.heads; ++head) {
    const double decay = std::exp(-std::exp(double{weights.decay_log[head]}));
    const Row q = Row(qkv).subspan(head * dim, dim);
    const Row k = Row(qkv).subspan(width + head * dim, dim);
    for (std::int64_t value = head * dim; value < (head + 1) * dim; ++value) {
      const std::span<double> row = std::span(state.ssm).subspan(value * dim, dim);
      for (std::int64_t i = 0; i < dim; ++i) row[i] = decay * row[i] + qkv[2 * width + value] * k[i];
      output[value] = reference::dot(row, q);
    }
  }
}

void run_chunk(const LinearAttentionSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows,
               RunningState& state) {
  const std::int64_t dim = spec.head_dim;
  const std::int64_t width = spec.heads * dim;
  std::vector<float> qkv = columns(rows, 0, 3 * width);
  for (float& value : qkv) value = silu(value);
  for (std::int64_t head = 0; head < spec.heads; ++head) {
    const std::vector<float> log_decay(static_cast<std::size_t>(rows.tokens), -std::exp(weights.decay_log[head]));
    const float* q = qkv.data() + head * dim;
    run_head_chunk({.tokens = rows.tokens, .key_dim = dim, .value_dim = dim, .query = {q, 3 * width},
                    .key = {q + width, 3 * width}, .value = {q + 2 * width, 3 * width},
                    .log_decay = {log_decay.data(), 1}, .output = rows.outputs + head * dim,
                    .output_stride = rows.output_width},
                   state.ssm.data() + head * dim * dim);
  }
}

}  // namespace hybridkv
