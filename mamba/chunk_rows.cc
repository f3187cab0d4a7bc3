#include "mamba/chunk_rows.h"

#include <algorithm>
#include <cmath>

#include "mamba/activations.h"
#include "mamba/causal_conv.h"

namespace hybridkv {

std::vector<float> columns(const ChunkRows& rows, std::int64_t first, std::int64_t width) {
  std::vector<float> part(static_cast<std::size_t>(rows.tokens * width));
  for (std::int64_t token = 0; token < rows.tokens; ++token)
    std::copy_n(rows.input(token) + first, width, part.data() + token * width);
  return part;
}

std::vector<float> convolve_and_activate(const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state) {
  const auto channels = static_cast<std::int64_t>(weights.conv_bias.size());
  std::vector<float> values = causal_conv(columns(rows, 0, channels), state.conv, weights.conv, weights.conv_bias);
  for (float& value : values) value = silu(value);
  return values;
}

void make_unit_length(float* values, std::int64_t count, float scale) {
  float sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += values[i] * values[i];
  const float factor = scale / std::sqrt(sum + 1e-6f);
  for (std::int64_t i = 0; i < count; ++i) values[i] *= factor;
}

}  // namespace hybridkv
