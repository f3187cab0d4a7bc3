#include "mamba/rwkv4.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mamba/chunk_rows.h"
#include "mamba/reduction.h"
#include "mamba/reference_step.h"
#include "mamba/token_shift.h"

namespace hybridkv {

namespace {

/// What one channel keeps of a weighted average.
enum Average : std::int64_t { numerator, denominator, scale_log, average_numbers };

constexpr double nothing_seen = -std::numeric_limits<double>::infinity();

}  // namespace

const FamilyTable<Rwkv4Spec>& family_of(const Rwkv4Spec&) {
  static const FamilyTable<Rwkv4Spec> table{
      .name = "rwkv4",
      .doc = "A layer of RWKV-4.",
      .fields = {{.name = "hidden_size",
                  .doc = "channels D that time mixing and channel mixing shift by a token",
                  .member = &Rwkv4Spec::hidden_size,
                  .published_doc = "channels of the model",
                  .published = {{"rwkv", {"hidden_size"}}}},
                 {.name = "attention_size",
                  .doc = "channels A of time mixing, of the whole model",
                  .member = &Rwkv4Spec::attention_size,
                  .published_doc = "channels of time mixing",
                  .published = {{"rwkv", {"attention_hidden_size", "hidden_size"}}}}},
      .ssm_dtype = DType::fp32,
      .least_decay_log = -4,  // the rate alone is the decay, no step scales it
      .largest_decay_log = 0};
  return table;
}

StateSpec state_of(const Rwkv4Spec& layer, const StateContext& context) {
  const Axis channels{"channel", share_of_rank(layer.attention_size, "channels", "rwkv4", context), 0};
  return place_state_tensors({shift_tensor(layer.hidden_size, context),
                              {"ssm", context.ssm_dtype, Layout({channels, {"number", average_numbers, 0}}), 0}});
}

std::vector<AxisRule> axis_rules(const Rwkv4Spec& layer, const StateContext& context) {
  std::vector<AxisRule> rules = shift_rules(layer.hidden_size);
  rules.push_back(split_axis_rule("ssm", "channel", "attention size", layer.attention_size, context));
  rules.push_back(whole_axis_rule("number", "numerator, denominator and scale", average_numbers));
  return rules;
}

LayerSizes sizes_of(const Rwkv4Spec& layer) {
  return {.input = 2 * layer.hidden_size + 2 * layer.attention_size,
          .output = layer.attention_size + 2 * layer.hidden_size,
          .conv_channels = 2 * layer.hidden_size,
          .conv_taps = shift_taps,
          .decay_log = layer.attention_size,
          .skip = layer.attention_size};
}

std::vector<ChannelSection> sections_of(const Rwkv4Spec& layer) { return shift_sections(layer.hidden_size); }

Rwkv4Spec part_of_rank(Rwkv4Spec layer, std::int64_t ranks) {
  layer.attention_size /= ranks;
  return layer;
}

Rwkv4Spec reduced(Rwkv4Spec layer, const Reduction& reduction) {
  layer.hidden_size = reduction.width(layer.hidden_size);
  layer.attention_size = reduction.width(layer.attention_size);
  return layer;
}

void run_token(const Rwkv4Spec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output) {
  shift_token(weights, input, state, output);
  const std::span<const double> keys = input.subspan(2 * spec.hidden_size, spec.attention_size);
  const std::span<const double> values = input.last(spec.attention_size);
  for (std::int64_t i = 0; i < spec.attention_size; ++i) {
    double* average = state.ssm.data() + i * average_numbers;
    const double k = keys[i], v = values[i], own = k + weights.skip[i];
    const double before = average[denominator] == 0 ? nothing_seen : average[scale_log];
    const double both = std::max(before, own);
    output[i] = (std::exp(before - both) * average[numerator] + std::exp(own - both) * v) /
                (std::exp(before - both) * average[denominator] + std::exp(own - both));
    const double decayed = before - std::exp(double{weights.decay_log[i]}), after = std::max(decayed, k);
    average[numerator] = std::exp(decayed - after) * average[numerator] + std::exp(k - after) * v;
    average[denominator] = std::exp(decayed - after) * average[denominator] + std::exp(k - after);
    average[scale_log] = after;
  }
}

/// Logs of weights count from the start of the chunk, where a token's is its key and all the decay until it: what is
/// summed never decays, only its largest log moves. They are double, since they grow with the chunk.
void run_chunk(const Rwkv4Spec& spec, const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state) {
  shift_chunk(weights, rows, state);
  for (std::int64_t i = 0; i < spec.attention_size; ++i) {
    float* average = state.ssm.data() + i * average_numbers;
    const double rate = std::exp(double{weights.decay_log[i]});
    float sum = average[numerator], weight = average[denominator];
    double largest = weight == 0 ? nothing_seen : double{average[scale_log]};
    for (std::int64_t token = 0; token < rows.tokens; ++token) {
      const float* input = rows.input(token) + 2 * spec.hidden_size + i;
      const float key = input[0], value = input[spec.attention_size];
      const double gap = largest - static_cast<double>(token) * rate - key - weights.skip[i];
      const auto seen = static_cast<float>(std::exp(std::min(gap, 0.0)));
      const auto own = static_cast<float>(std::exp(std::min(-gap, 0.0)));
      rows.output(token)[i] = (seen * sum + own * value) / (seen * weight + own);
      const double log = key + static_cast<double>(token + 1) * rate, next = std::max(largest, log);
      const auto kept = static_cast<float>(std::exp(largest - next)), added = static_cast<float>(std::exp(log - next));
      sum = kept * sum + added * value;
      weight = kept * weight + added;
      largest = next;
    }
    average[numerator] = sum;
    average[denominator] = weight;
    average[scale_log] = static_cast<float>(largest - static_cast<double>(rows.tokens) * rate);
  }
}

}  // namespace hybridkv
