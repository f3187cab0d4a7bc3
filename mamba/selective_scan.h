#pragma once

#include <cstdint>
#include <span>

namespace hybridkv {

/// Consecutive tokens of a selective scan, one state of `state_size` numbers per channel.
struct ScanChunk {
  std::int64_t tokens = 0;
  std::int64_t channels = 0;
  std::int64_t state_size = 0;
  const float* x = nullptr;          ///< (token, channel), after convolution and silu
  const float* step = nullptr;       ///< (token, channel), d > 0
  const float* b = nullptr;          ///< (token, state), rows `bc_stride` apart
  const float* c = nullptr;          ///< (token, state), rows `bc_stride` apart
  std::int64_t bc_stride = 0;
  const float* decay_rate = nullptr; ///< (channel, state), exp(A_log): s decays by e^(-rate * d)
  float* output = nullptr;           ///< (token, channel), C s is added to it
};

/// Blocked selective scan: scans the chunk from a state of zero, then adds what the state before it, decayed by the
/// running sum of steps, contributes; `state` (channel, state) becomes that after the last token.
/// Source: Gu and Dao, Mamba, 2023.
void run_scan_chunk(const ScanChunk& chunk, std::span<float> state);

}  // namespace hybridkv
