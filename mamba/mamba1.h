#pragma once

#include "mamba/state_family.h"

namespace hybridkv {

/// A Mamba layer of the first kind, with a selective scan per channel (Jamba, Plamo2).
///
/// Row of a token, "|" between parts, c: what passes the causal convolution and silu first:
///   c: x (I) | dt (I) | B (N) | C (N)  -> y (I)
/// Per channel i, with state s of (channel, state):
///   s[i,n] = exp(-exp(A_log[i,n]) d_i) s[i,n] + d_i B_n x_i,  y_i = sum_n C_n s[i,n] + D_i x_i,
///   d = softplus(dt + dt_bias)
/// Source: Gu and Dao, Mamba, 2023.
///
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

/// What every family brings (StateFamily).
const FamilyTable<Mamba1Spec>& family_of(const Mamba1Spec&);
std::vector<AxisRule> axis_rules(const Mamba1Spec& layer, const StateContext& context);
LayerSizes sizes_of(const Mamba1Spec& layer);
std::vector<ChannelSection> sections_of(const Mamba1Spec& layer);
Mamba1Spec part_of_rank(Mamba1Spec layer, std::int64_t ranks);
Mamba1Spec reduced(Mamba1Spec layer, const Reduction& reduction);
void run_token(const Mamba1Spec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output);
void run_chunk(const Mamba1Spec& spec, const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state);

}  // namespace hybridkv
