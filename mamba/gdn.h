#pragma once

#include "mamba/state_spec.h"

namespace hybridkv {

/// A gated delta net layer (Qwen3-Next, Qwen3.5, Olmo-hybrid).
/// Example: Qwen3.5-397B at TP2 in bf16 conv and fp32 ssm: conv (3, 6144), ssm (32, 128, 128), 2,134,016 bytes.
struct GdnSpec {
  std::int64_t key_heads = 0;       ///< Hk, >= 1
  std::int64_t value_heads = 0;     ///< Hv, >= 1
  std::int64_t key_head_dim = 0;    ///< Dk, >= 1
  std::int64_t value_head_dim = 0;  ///< Dv, >= 1
  std::int64_t conv_kernel = 0;     ///< K, >= 1
  /// Whether beta is 2 sigmoid(b), not sigmoid(b), so that a state may turn over along a key (an eigenvalue of the step
  /// below 0); Olmo-hybrid does.
  bool doubled_beta = false;
  bool operator==(const GdnSpec&) const = default;
};

/// conv (K-1+s, (2*Hk*Dk + Hv*Dv)/TP), ssm (Hv/TP, Dv, Dk). Source: vLLM MambaStateShapeCalculator.
/// Throws SpecError("engine.tensor_parallel") where TP does not divide both the key heads and the value heads.
StateSpec state_of(const GdnSpec& layer, const StateContext& context);

}  // namespace hybridkv
