#pragma once

#include "mamba/state_spec.h"

namespace hybridkv {

/// Linear attention with a fixed decay per head (lightning attention: MiniMax-Text-01, Ling).
/// Example: MiniMax-Text-01 (64 heads of 128) at TP8 in fp32: ssm (8, 128, 128), 524,288 bytes.
struct LinearAttentionSpec {
  std::int64_t heads = 0;     ///< H, of q, k and v alike, >= 1
  std::int64_t head_dim = 0;  ///< D, >= 1
  bool operator==(const LinearAttentionSpec&) const = default;
};

/// ssm (H/TP, D, D), no convolution. Source: vLLM MambaStateShapeCalculator.
/// Throws SpecError("engine.tensor_parallel") where TP does not divide the heads.
StateSpec state_of(const LinearAttentionSpec& layer, const StateContext& context);

}  // namespace hybridkv
