#include "mamba/reference_step.h"

#include <cmath>
#include <cstdint>

#include "mamba/activations.h"

namespace hybridkv::reference {

std::vector<double> convolve(const RecurrentWeights& weights, Row input, std::vector<double>& history) {
  const std::size_t channels = weights.conv_bias.size();
  const std::size_t taps = weights.conv.size() / channels;
  history.insert(history.end(), input.begin(), input.end());
  std::vector<double> output(input.size());
  for (std::size_t channel = 0; channel < channels; ++channel) {
    output[channel] = weights.conv_bias[channel];
    for (std::size_t tap = 0; tap < taps; ++tap)
      output[channel] += history[tap * channels + channel] * weights.conv[tap * channels + channel];
  }
  history.erase(history.begin(), history.begin() + static_cast<std::ptrdiff_t>(channels));
  return output;
}

std::vector<double> silu_of(std::vector<double> values) {
  for (double& value : values) value = silu(value);
  return values;
}

std::vector<double> unit_length(Row values) {
  double sum = 0;
  for (double value : values) sum += value * value;
  const double scale = 1 / std::sqrt(sum + 1e-6);
  std::vector<double> result(values.begin(), values.end());
  for (double& value : result) value *= scale;
  return result;
}

double dot(Row a, Row b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void delta_rule(Row q, Row k, Row v, Row decay, double beta, std::span<double> s, std::span<double> output) {
  const std::int64_t keys = static_cast<std::int64_t>(k.size());
  for (std::size_t value = 0; value < v.size(); ++value) {
    const std::span<double> row = s.subspan(value * keys, keys);
    for (std::int64_t i = 0; i < keys; ++i) row[i] *= decay[i];
    const double correction = beta * (v[value] - dot(row, k));
    for (std::int64_t i = 0; i < keys; ++i) row[i] += correction * k[i];
    output[value] = dot(row, q) / std::sqrt(static_cast<double>(keys));
  }
}

}  // namespace hybridkv::reference
