#pragma once

#include "mamba/state_family.h"

namespace hybridkv {

/// A Mamba-2 layer (Nemotron-H, Granite-4-H, Bamba, Falcon-H1, Zamba2); d_inner = heads * head_dim.
///
/// Row of a token, "|" between parts, c: what passes the causal convolution and silu first:
///   c: x (H*P), B (G*N), C (G*N) | dt (H)  -> y (H*P)
/// Per head, which reads group h / (H/G), with state S of (dim, state):
///   S = exp(-exp(A_log) d) S + d x B^T,  y = S C + D x,  d = softplus(dt + dt_bias)
/// Source: Dao and Gu, Mamba-2, 2024.
///
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

/// What every family brings (StateFamily).
const FamilyTable<Mamba2Spec>& family_of(const Mamba2Spec&);
std::vector<AxisRule> axis_rules(const Mamba2Spec& layer, const StateContext& context);
LayerSizes sizes_of(const Mamba2Spec& layer);
std::vector<ChannelSection> sections_of(const Mamba2Spec& layer);
Mamba2Spec part_of_rank(Mamba2Spec layer, std::int64_t ranks);
Mamba2Spec reduced(Mamba2Spec layer, const Reduction& reduction);
void run_token(const Mamba2Spec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output);
void run_chunk(const Mamba2Spec& spec, const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state);

}  // namespace hybridkv
