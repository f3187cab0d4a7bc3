#pragma once

#include "mamba/state_spec.h"

namespace hybridkv {

/// A gated short convolution (LFM2): its state is the convolution's alone.
/// Example: LFM2.5-1.2B at TP1 in bf16: conv (2, 2048), 8,192 bytes.
struct ShortConvSpec {
  std::int64_t channels = 0;     ///< d, >= 1
  std::int64_t conv_kernel = 3;  ///< K, >= 2: one tap alone would need no state
  bool operator==(const ShortConvSpec&) const = default;
};

/// conv (K-1, d/TP). Source: vLLM MambaStateShapeCalculator.
/// Throws SpecError("engine.tensor_parallel") where TP does not divide the channels.
StateSpec state_of(const ShortConvSpec& layer, const StateContext& context);

}  // namespace hybridkv
