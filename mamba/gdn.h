#pragma once

#include "mamba/state_family.h"

namespace hybridkv {

/// A gated delta net layer (Qwen3-Next, Qwen3.5, Olmo-hybrid).
///
/// Row of a token, "|" between parts, c: what passes the causal convolution and silu first:
///   c: q (Hk*Dk), k (Hk*Dk), v (Hv*Dv) | b (Hv) | a (Hv)  -> o (Hv*Dv)
/// Per value head, which reads key head h / (Hv/Hk), with state S of (value, key):
///   S = g S,  S = S + beta (v - S k) k^T,  o = S q / sqrt(Dk); q and k of length one,
///   g = exp(-exp(A_log) softplus(a + dt_bias)),  beta = sigmoid(b), with doubled_beta 2 sigmoid(b)
/// Source: Yang et al., Gated Delta Networks, 2024.
///
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
/// Throws SpecError("engine.tensor_parallel") where TP does not divide both the key heads and the value heads; engines
/// that pad take key heads up to a multiple of TP and value heads in proportion.
StateSpec state_of(const GdnSpec& layer, const StateContext& context);

/// What every family brings (StateFamily).
const FamilyTable<GdnSpec>& family_of(const GdnSpec&);
std::vector<AxisRule> axis_rules(const GdnSpec& layer, const StateContext& context);
LayerSizes sizes_of(const GdnSpec& layer);
std::vector<ChannelSection> sections_of(const GdnSpec& layer);
GdnSpec part_of_rank(GdnSpec layer, std::int64_t ranks);
GdnSpec reduced(GdnSpec layer, const Reduction& reduction);
void run_token(const GdnSpec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output);
void run_chunk(const GdnSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state);

}  // namespace hybridkv
