#include "clock/clock_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "planner/spec_plans.h"

namespace hybridkv {

namespace {

/// Width of a head of MLA beside its rotated part, and of its values. Source: config.json of DeepSeek-V2 and -V3,
/// Kimi-K2, Kimi-Linear.
constexpr double latent_head_size = 128;

/// FLOPs of a pair of query and key in one layer.
AttentionWork flops_of(const AttentionSpec& layer, std::int64_t query_heads) {
  const auto heads = static_cast<double>(query_heads);
  const auto k = static_cast<double>(layer.head_size_k), v = static_cast<double>(layer.head_size_v);
  AttentionWork work;
  work.decode_flops = 2 * heads * (k + v);
  work.prefill_flops =
      layer.kind == AttentionKind::mla ? 2 * heads * (k - v + 2 * latent_head_size) : work.decode_flops;
  work.window = layer.window_tokens;
  return work;
}

void add_attention(ClockModel& clock, const ModelSpec& model, const SpecPlan& spec) {
  if (spec.is_indexer() || spec.is_cross()) return;
  const AttentionSpec* own = nullptr;
  for (const std::int64_t layer : spec.layers)
    if (layer < std::ssize(model.layers) && model.layers[static_cast<std::size_t>(layer)].attention)
      own = &*model.layers[static_cast<std::size_t>(layer)].attention;
  if (own == nullptr) return;
  AttentionWork work = flops_of(*own, own->query_heads);
  work.layers = std::ssize(spec.layers);
  work.token_bytes = static_cast<double>(spec.bytes_per_token);
  if (own->kind == AttentionKind::mla) clock.latent_layers += work.layers;
  clock.attention.push_back(work);
  // Layers that read the K and V of one of these compute their own queries.
  AttentionWork reading = work;
  reading.layers = 0;
  for (const LayerSpec& layer : model.layers)
    if (layer.shared && std::find(spec.layers.begin(), spec.layers.end(), layer.shared->source) != spec.layers.end())
      ++reading.layers;
  if (reading.layers > 0) clock.attention.push_back(reading);
}

void add_states(ClockModel& clock, const SpecPlan& spec) {
  StateWork work{.layers = std::ssize(spec.layers), .state_bytes = static_cast<double>(spec.state->bytes)};
  for (const StateTensor& tensor : spec.state->tensors)
    if (tensor.name != "conv") work.recurrence += static_cast<double>(tensor.layout.num_elements());
  clock.states.push_back(work);
}

}  // namespace

WeightFormat weight_format(double bits, const GpuSpeed& gpu) {
  WeightFormat format{.bytes = bits / 8};
  if (bits < 5) format.type = gpu.fp4_flops > 0 ? ComputeType::fp4 : ComputeType::bf16;
  else if (bits < 10) format.type = gpu.fp8_flops > 0 ? ComputeType::fp8 : ComputeType::bf16;
  return format;
}

double sequence_bytes(const ClockModel& model, double tokens) {
  double bytes = 0;
  for (const AttentionWork& kind : model.attention) {
    const double kept = kind.window > 0 && model.latent_layers == 0 ? std::min(tokens, static_cast<double>(kind.window))
                                                                    : tokens;
    bytes += static_cast<double>(kind.layers) * kind.token_bytes * kept;
  }
  for (const StateWork& kind : model.states) bytes += static_cast<double>(kind.layers) * kind.state_bytes;
  return bytes;
}

ClockModel clock_model(const ModelSpec& model, const EngineSpec& engine, const GpuSpeed& gpu) {
  if (!model.parameters)
    throw InputError(fmt::format("{}: its parameters are not known, so no step of it has a time; import its "
                                 "config.json, or add `parameters` to its model file", model.name));
  const ModelParameters& parameters = *model.parameters;
  ClockModel clock;
  std::int64_t alone = 0;  // layers without a cache
  for (const LayerSpec& layer : model.layers)
    if (!layer.attention && !layer.recurrent && !layer.shared && !layer.cross) ++alone;
  const std::int64_t cached = std::ssize(model.layers) - alone;
  // Where MLPs are layers of their own, one of them and a mixer launch what a layer with both does.
  clock.layers = std::max(cached, alone);
  // The last norm has a weight for each channel.
  clock.hidden = parameters.beside[ParameterPart::norms];
  for (const KindParameters& kind : parameters.layers) {
    const auto routed = static_cast<double>(kind.counts[ParameterPart::routed_experts]);
    clock.expert_parameters += routed;
    clock.dense_parameters += static_cast<double>(kind.counts.total()) - routed -
                              static_cast<double>(kind.counts[ParameterPart::embeddings]);
    clock.shared_expert = clock.shared_expert || kind.counts[ParameterPart::shared_experts] > 0;
    if (routed > 0) clock.moe_layers = std::max(clock.moe_layers, kind.kind == "-" ? alone : cached);
  }
  clock.head_parameters = static_cast<double>(
      std::max(parameters.beside[ParameterPart::head], parameters.beside[ParameterPart::embeddings]));
  if (clock.expert_parameters > 0) {
    clock.experts = parameters.experts;
    clock.experts_per_token = parameters.experts_per_token;
  }
  const double plain = 8 * static_cast<double>(element_bytes(model.dtype));
  clock.dense = weight_format(parameters.weight_bits.value_or(plain), gpu);
  clock.expert = weight_format(parameters.expert_bits.value_or(parameters.weight_bits.value_or(plain)), gpu);
  for (const SpecPlan& spec : make_specs(model, engine, nullptr)) {
    if (spec.draft || spec.auxiliary) continue;
    if (spec.attention) add_attention(clock, model, spec);
    if (spec.state) add_states(clock, spec);
  }
  return clock;
}

}  // namespace hybridkv
