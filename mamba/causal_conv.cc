#include "mamba/causal_conv.h"

#include <algorithm>

namespace hybridkv {

std::vector<float> causal_conv(std::span<const float> inputs, std::vector<float>& history,
                               std::span<const float> weights, std::span<const float> bias) {
  const std::size_t channels = bias.size();
  if (channels == 0) return {};
  const std::size_t taps = weights.size() / channels;
  std::vector<float> joined = history;
  joined.insert(joined.end(), inputs.begin(), inputs.end());
  std::vector<float> outputs(inputs.size());
  for (std::size_t token = 0; token < inputs.size() / channels; ++token) {
    float* output = outputs.data() + token * channels;
    std::copy(bias.begin(), bias.end(), output);
    for (std::size_t tap = 0; tap < taps; ++tap) {
      const float* input = joined.data() + (token + tap) * channels;
      const float* weight = weights.data() + tap * channels;
      for (std::size_t channel = 0; channel < channels; ++channel) output[channel] += input[channel] * weight[channel];
    }
  }
  history.assign(joined.end() - static_cast<std::ptrdiff_t>((taps - 1) * channels), joined.end());
  return outputs;
}

}  // namespace hybridkv
