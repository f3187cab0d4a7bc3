#include "mamba/rg_lru.h"

#include <cmath>

#include "mamba/activations.h"
#include "mamba/causal_conv.h"
#include "mamba/chunk_rows.h"
#include "mamba/reduction.h"
#include "mamba/reference_step.h"

namespace hybridkv {

namespace {

/// What the log of a decay is multiplied by besides its gate: c of the paper.
constexpr int decay_sharpness = 8;

/// Which of the two gates of a channel.
enum LruGate : std::int64_t { input_gate, recurrence_gate, num_gates };

void check_rg_lru(const RgLruSpec& layer, const std::string& path) {
  check_shared_evenly(layer.lru_width, "channels", layer.heads, "heads", path + ".lru_width");
}

/// One gate of one channel: reads the whole block of channels that it is in.
double gate_of(const RgLruSpec& spec, const RecurrentWeights& weights, LruGate gate, reference::Row x, std::int64_t i) {
  const std::int64_t block = spec.lru_width / spec.heads, head = i / block;
  double sum = weights.step_bias[gate * spec.lru_width + i];
  for (std::int64_t j = 0; j < block; ++j)
    sum += x[head * block + j] * weights.gates[((gate * spec.heads + head) * block + j) * block + i % block];
  return sigmoid(sum);
}

/// One gate of all channels and tokens, (token, channel), a row of weights at a time.
std::vector<float> gate_rows(const RgLruSpec& spec, const RecurrentWeights& weights, LruGate gate,
                             const std::vector<float>& x) {
  const std::int64_t width = spec.lru_width, block = width / spec.heads;
  std::vector<float> rows(x.size());
  for (std::int64_t first = 0; first < std::ssize(x); first += block) {
    const float* bias = weights.step_bias.data() + gate * width + first % width;
    const float* weight = weights.gates.data() + (gate * width + first % width) * block;
    float* row = rows.data() + first;
    for (std::int64_t i = 0; i < block; ++i) row[i] = bias[i];
    for (std::int64_t j = 0; j < block; ++j, weight += block)
      for (std::int64_t i = 0; i < block; ++i) row[i] += x[first + j] * weight[i];
    for (std::int64_t i = 0; i < block; ++i) row[i] = sigmoid(row[i]);
  }
  return rows;
}

}  // namespace

const FamilyTable<RgLruSpec>& family_of(const RgLruSpec&) {
  static const FamilyTable<RgLruSpec> table{
      .name = "rg_lru",
      .doc = "A real-gated linear recurrent unit behind a short convolution (RecurrentGemma).",
      .fields = {{.name = "lru_width",
                  .doc = "channels D of the recurrence",
                  .member = &RgLruSpec::lru_width,
                  .published_doc = "channels of the recurrence",
                  .published = {{"recurrent_gemma", {"lru_width"}}}},
                 {.name = "heads",
                  .doc = "blocks of channels that the gates read, of the whole model",
                  .member = &RgLruSpec::heads,
                  .published_doc = "blocks of channels that the gates read",
                  .published = {{"recurrent_gemma", {"num_attention_heads"}}}},
                 {.name = "conv_kernel",
                  .doc = "taps K of the convolution, of which the state keeps K - 1",
                  .member = &RgLruSpec::conv_kernel,
                  .published_doc = "taps of the convolution",
                  .published = {{"recurrent_gemma", {"conv1d_width"}}}}},
      .check = check_rg_lru,
      .ssm_dtype = DType::fp32,
      .least_decay_log = -3,  // eight times its softplus is the decay where the gate is open
      .largest_decay_log = 0};
  return table;
}

StateSpec state_of(const RgLruSpec& layer, const StateContext& context) {
  const std::int64_t heads = share_of_rank(layer.heads, "heads", "rg_lru", context);
  const Axis channels{"channel", Checked(layer.lru_width / layer.heads) * heads, 0};
  return place_state_tensors({
      {"conv", context.conv_dtype, Layout({{"step", layer.conv_kernel - 1, 0}, channels}), 0},
      {"ssm", context.ssm_dtype, Layout({channels}), 0},
  });
}

std::vector<AxisRule> axis_rules(const RgLruSpec& layer, const StateContext& context) {
  return {conv_steps_rule(layer.conv_kernel, context, false),
          split_axis_rule("conv", "channel", "lru width", layer.lru_width, context),
          split_axis_rule("ssm", "channel", "lru width", layer.lru_width, context)};
}

LayerSizes sizes_of(const RgLruSpec& layer) {
  const std::int64_t block = layer.lru_width / layer.heads;
  return {.input = layer.lru_width,
          .output = layer.lru_width,
          .conv_channels = layer.lru_width,
          .conv_taps = layer.conv_kernel,
          .decay_log = layer.lru_width,
          .step_bias = num_gates * layer.lru_width,
          .gates = num_gates * layer.lru_width * block,
          .gate_inputs = block};
}

std::vector<ChannelSection> sections_of(const RgLruSpec& layer) {
  return {{"x", layer.heads, layer.lru_width / layer.heads}};
}

RgLruSpec part_of_rank(RgLruSpec layer, std::int64_t ranks) {
  layer.lru_width = layer.lru_width / layer.heads * (layer.heads / ranks);
  layer.heads /= ranks;
  return layer;
}

RgLruSpec reduced(RgLruSpec layer, const Reduction& reduction) {
  const std::int64_t block = reduction.channels(layer.lru_width / layer.heads);
  layer.heads = reduction.heads(layer.heads);
  layer.lru_width = layer.heads * block;
  return layer;
}

void run_token(const RgLruSpec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output) {
  const std::vector<double> x = reference::convolve(weights, input, state.conv);
  for (std::int64_t i = 0; i < spec.lru_width; ++i) {
    const double r = gate_of(spec, weights, recurrence_gate, x, i);
    const double a = std::exp(-decay_sharpness * r * softplus(double{weights.decay_log[i]}));
    double& h = state.ssm[i];
    h = a * h + std::sqrt(1 - a * a) * gate_of(spec, weights, input_gate, x, i) * x[i];
    output[i] = h;
  }
}

void run_chunk(const RgLruSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state) {
  const std::int64_t width = spec.lru_width;
  const std::vector<float> x = causal_conv(columns(rows, 0, width), state.conv, weights.conv, weights.conv_bias);
  const std::vector<float> open = gate_rows(spec, weights, recurrence_gate, x);
  const std::vector<float> let_in = gate_rows(spec, weights, input_gate, x);
  for (std::int64_t i = 0; i < width; ++i) {
    const float rate = decay_sharpness * softplus(weights.decay_log[i]);
    double elapsed = 0;  // a float would lose digits of what a long chunk leaves of the state before it
    float local = 0;     // scanned from zero, to which the state before the chunk is added, decayed
    for (std::int64_t token = 0; token < rows.tokens; ++token) {
      const std::int64_t at = token * width + i;
      const float log_decay = -rate * open[at];
      elapsed += log_decay;
      // 1 - a^2 from its log: the difference of two numbers near one would keep few digits.
      local = std::exp(log_decay) * local + std::sqrt(-std::expm1(2 * log_decay)) * let_in[at] * x[at];
      rows.output(token)[i] = local + static_cast<float>(std::exp(elapsed)) * state.ssm[i];
    }
    state.ssm[i] = static_cast<float>(std::exp(elapsed)) * state.ssm[i] + local;
  }
}

}  // namespace hybridkv
