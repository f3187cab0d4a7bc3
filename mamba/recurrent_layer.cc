#include "mamba/recurrent_layer.h"

#include <cmath>

#include "base/random.h"

namespace hybridkv {

namespace {

/// What one layer looks like from outside: sizes of its rows, its convolution and its weights.
struct Sizes {
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int64_t conv_channels = 0;
  std::int64_t taps = 1;
  bool holds_drafts = false;
  std::int64_t decay_log = 0;
  std::int64_t step_bias = 0;
  std::int64_t skip = 0;
};

Sizes sizes_of(const GdnSpec& layer) {
  const std::int64_t values = layer.value_heads * layer.value_head_dim;
  const std::int64_t channels = 2 * layer.key_heads * layer.key_head_dim + values;
  return {channels + 2 * layer.value_heads, values, channels, layer.conv_kernel, true, layer.value_heads,
          layer.value_heads, 0};
}

Sizes sizes_of(const Mamba2Spec& layer) {
  const std::int64_t inner = layer.heads * layer.head_dim;
  const std::int64_t channels = inner + 2 * layer.groups * layer.state_size;
  return {channels + layer.heads, inner, channels, layer.conv_kernel, true, layer.heads, layer.heads, layer.heads};
}

Sizes sizes_of(const Mamba1Spec& layer) {
  return {2 * layer.inner_size + 2 * layer.state_size, layer.inner_size, layer.inner_size, layer.conv_kernel, false,
          layer.inner_size * layer.state_size, layer.inner_size, layer.inner_size};
}

Sizes sizes_of(const KdaSpec& layer) {
  const std::int64_t width = layer.heads * layer.head_dim;
  return {4 * width + layer.heads, width, 3 * width, layer.conv_kernel, layer.conv_holds_drafts, layer.heads, width, 0};
}

Sizes sizes_of(const ShortConvSpec& layer) {
  return {3 * layer.channels, layer.channels, layer.channels, layer.conv_kernel, false, 0, 0, 0};
}

Sizes sizes_of(const LinearAttentionSpec& layer) {
  const std::int64_t width = layer.heads * layer.head_dim;
  return {3 * width, width, 0, 1, false, layer.heads, 0, 0};
}

Sizes sizes_of(const RecurrentSpec& layer) {
  return std::visit([](const auto& family) { return sizes_of(family); }, layer);
}

struct OnRank {
  std::int64_t ranks;
  RecurrentSpec operator()(GdnSpec layer) const {
    layer.key_heads /= ranks;
    layer.value_heads /= ranks;
    return layer;
  }
  RecurrentSpec operator()(Mamba2Spec layer) const {
    layer.heads /= ranks;
    layer.groups = layer.groups % ranks == 0 ? layer.groups / ranks : 1;
    return layer;
  }
  RecurrentSpec operator()(Mamba1Spec layer) const {
    layer.inner_size /= ranks;
    return layer;
  }
  RecurrentSpec operator()(ShortConvSpec layer) const {
    layer.channels /= ranks;
    return layer;
  }
  template <class ByHead>
  RecurrentSpec operator()(ByHead layer) const {
    layer.heads /= ranks;
    return layer;
  }
};

std::vector<float> draw(std::uint64_t seed, std::int64_t count, float low, float high) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = low + (high - low) * 0.5f * (1 + unit_value(mix(seed, i)));
  return values;
}

}  // namespace

RecurrentSpec on_rank(const RecurrentSpec& layer, std::int64_t tensor_parallel) {
  state_of(layer, StateContext{.tensor_parallel = tensor_parallel});  // refuses ranks that cannot share it
  return std::visit(OnRank{tensor_parallel}, layer);
}

std::int64_t input_width(const RecurrentSpec& layer) { return sizes_of(layer).input; }
std::int64_t output_width(const RecurrentSpec& layer) { return sizes_of(layer).output; }
std::int64_t conv_channels(const RecurrentSpec& layer) { return sizes_of(layer).conv_channels; }
std::int64_t conv_taps(const RecurrentSpec& layer) { return sizes_of(layer).taps; }
bool conv_holds_drafts(const RecurrentSpec& layer) { return sizes_of(layer).holds_drafts; }

RecurrentLayer random_layer(const RecurrentSpec& layer, std::uint64_t seed) {
  const Sizes sizes = sizes_of(layer);
  const float reach = 1.0f / std::sqrt(static_cast<float>(sizes.taps));
  return {layer,
          {.conv = draw(mix(seed, 1), sizes.taps * sizes.conv_channels, -reach, reach),
           .conv_bias = draw(mix(seed, 2), sizes.conv_channels, -0.1f, 0.1f),
           .decay_log = draw(mix(seed, 3), sizes.decay_log, std::holds_alternative<LinearAttentionSpec>(layer) ? -4 : 0,
                             std::holds_alternative<LinearAttentionSpec>(layer) ? 0.0f : 1.2f),
           .step_bias = draw(mix(seed, 4), sizes.step_bias, -4, -0.5f),
           .skip = draw(mix(seed, 5), sizes.skip, 0.5f, 1.5f)}};
}

}  // namespace hybridkv
