#pragma once

#include <vector>

namespace hybridkv {

/// What a recurrence multiplies and adds besides its inputs. Lists that a family has no use for are empty.
struct RecurrentWeights {
  std::vector<float> conv;       ///< (tap, channel), the last tap weighs the newest input
  std::vector<float> conv_bias;  ///< (channel)
  std::vector<float> decay_log;  ///< A_log; mamba1 (channel, state), else as many as the header of the family says
  std::vector<float> step_bias;  ///< dt_bias; mamba1 (channel), mamba2 and gdn (head), kda (head, channel)
  std::vector<float> skip;       ///< D; mamba1 (channel), mamba2 (head); of RWKV the bonus u of every channel
  /// Products of each block of channels by itself, rg_lru (gate, head, input, output), cca (tap, head, input, output).
  std::vector<float> gates;
  bool operator==(const RecurrentWeights&) const = default;
};

}  // namespace hybridkv
