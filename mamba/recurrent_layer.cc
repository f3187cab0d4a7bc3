#include "mamba/recurrent_layer.h"

#include <cmath>

#include "base/random.h"

namespace hybridkv {

namespace {

LayerSizes sizes_of(const RecurrentSpec& layer) {
  return std::visit([](const auto& family) { return sizes_of(family); }, layer);
}

std::vector<float> draw(std::uint64_t seed, std::int64_t count, float low, float high) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = low + (high - low) * 0.5f * (1 + unit_value(mix(seed, i)));
  return values;
}

}  // namespace

RecurrentSpec on_rank(const RecurrentSpec& layer, std::int64_t tensor_parallel) {
  state_of(layer, StateContext{.tensor_parallel = tensor_parallel});  // refuses ranks that cannot share it
  return std::visit([&](const auto& family) { return RecurrentSpec(part_of_rank(family, tensor_parallel)); }, layer);
}

std::int64_t input_width(const RecurrentSpec& layer) { return sizes_of(layer).input; }
std::int64_t output_width(const RecurrentSpec& layer) { return sizes_of(layer).output; }
std::int64_t conv_channels(const RecurrentSpec& layer) { return sizes_of(layer).conv_channels; }
std::int64_t conv_taps(const RecurrentSpec& layer) { return sizes_of(layer).conv_taps; }
bool conv_holds_drafts(const RecurrentSpec& layer) { return sizes_of(layer).conv_holds_drafts; }

RecurrentLayer random_layer(const RecurrentSpec& layer, std::uint64_t seed) {
  const LayerSizes sizes = sizes_of(layer);
  const std::int64_t taps = sizes.weight_taps > 0 ? sizes.weight_taps : sizes.conv_taps;
  const float reach = 1.0f / std::sqrt(static_cast<float>(taps));
  const float gate_reach = std::sqrt(3.0f / static_cast<float>(sizes.gate_inputs));
  const auto decay_log = [&](const auto& family) {
    return draw(mix(seed, 3), sizes.decay_log, family_of(family).least_decay_log, family_of(family).largest_decay_log);
  };
  return {layer,
          {.conv = draw(mix(seed, 1), taps * sizes.conv_channels, -reach, reach),
           .conv_bias = draw(mix(seed, 2), sizes.conv_channels, -0.1f, 0.1f),
           .decay_log = std::visit(decay_log, layer),
           .step_bias = draw(mix(seed, 4), sizes.step_bias, -4, -0.5f),
           .skip = draw(mix(seed, 5), sizes.skip, 0.5f, 1.5f),
           .gates = draw(mix(seed, 6), sizes.gates, -gate_reach, gate_reach)}};
}

}  // namespace hybridkv
