#include "mamba/selective_scan.h"

#include <cmath>
#include <vector>

namespace hybridkv {

void run_scan_chunk(const ScanChunk& chunk, std::span<float> state) {
  const std::int64_t size = chunk.state_size;
  std::vector<float> local(static_cast<std::size_t>(size));
  for (std::int64_t channel = 0; channel < chunk.channels; ++channel) {
    const float* rate = chunk.decay_rate + channel * size;
    float* before = state.data() + channel * size;
    local.assign(local.size(), 0.0f);
    double elapsed = 0;  // a float would lose a digit over a long chunk, and the rate multiplies what is lost
    const auto decay_since_start = [&](float decay_rate) {
      return std::exp(static_cast<float>(-decay_rate * elapsed));
    };
    for (std::int64_t token = 0; token < chunk.tokens; ++token) {
      const float step = chunk.step[token * chunk.channels + channel];
      const float input = step * chunk.x[token * chunk.channels + channel];
      const float* b = chunk.b + token * chunk.bc_stride;
      const float* c = chunk.c + token * chunk.bc_stride;
      elapsed += step;
      float sum = 0;
      for (std::int64_t n = 0; n < size; ++n) {
        local[n] = std::exp(-rate[n] * step) * local[n] + input * b[n];
        sum += c[n] * (local[n] + decay_since_start(rate[n]) * before[n]);
      }
      chunk.output[token * chunk.channels + channel] += sum;
    }
    for (std::int64_t n = 0; n < size; ++n) before[n] = decay_since_start(rate[n]) * before[n] + local[n];
  }
}

}  // namespace hybridkv
