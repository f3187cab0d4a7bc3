#pragma once

#include "mamba/state_spec.h"

namespace hybridkv {

/// A Mamba-2 layer (Nemotron-H, Granite-4-H, Bamba, Falcon-H1, Zamba2); d_inner = heads * head_dim.
/// Example: granite-4.0-h-small at TP1 in bf16: conv (3, 8448), ssm (128, 64, 128), 2,147,840 bytes.
struct Mamba2Spec {
  std::int64_t heads = 0;        ///< >= 1
  std::int64_t head_dim = 0;     ///< >= 1
  std::int64_t state_size = 0;   ///< d_state, >= 1
  std::int64_t groups = 1;       ///< G, shared B and C projections, >= 1
  std::int64_t conv_kernel = 4;  ///< K, >= 1
  std::int64_t chunk_size = 256; ///< tokens of one chunk of the parallel scan; grain of mode "all"
  bool operator==(const Mamba2Spec&) const = default;
};

/// conv (K-1+s, (d_inner + 2*G*d_state)/TP), ssm (heads/TP, head_dim, d_state). Groups are replicated to
/// G = TP where TP > G does not divide into them. Source: vLLM MambaStateShapeCalculator.
/// Throws SpecError("engine.tensor_parallel") where TP does not divide the heads, or is below the number of
/// groups and does not divide it.
StateSpec state_of(const Mamba2Spec& layer, const StateContext& context);

}  // namespace hybridkv
