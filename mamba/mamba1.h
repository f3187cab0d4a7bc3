#pragma once

#include "mamba/state_spec.h"

namespace hybridkv {

/// A Mamba layer of the first kind, with a selective scan per channel (Jamba, Plamo2).
/// Example: Jamba-1.5-mini at TP1 in bf16: conv (3, 8192), ssm (8192, 16), 311,296 bytes.
struct Mamba1Spec {
  std::int64_t inner_size = 0;   ///< d_inner, channels after the expansion, >= 1
  std::int64_t state_size = 0;   ///< d_state of one channel, >= 1
  std::int64_t conv_kernel = 4;  ///< K, >= 1
  bool operator==(const Mamba1Spec&) const = default;
};

/// conv (K-1, d_inner/TP), ssm (d_inner/TP, d_state). Source: vLLM MambaStateShapeCalculator.
/// Throws SpecError("engine.tensor_parallel") where TP does not divide the channels.
StateSpec state_of(const Mamba1Spec& layer, const StateContext& context);

}  // namespace hybridkv
