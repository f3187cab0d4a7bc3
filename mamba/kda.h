#pragma once

#include "mamba/state_family.h"

namespace hybridkv {

/// A Kimi delta attention layer: a gated delta rule whose decay is one per key channel (Kimi-Linear, Ling, GLM-5.3).
///
/// Row of a token, "|" between parts, c: what passes the causal convolution and silu first:
///   c: q (H*D), k (H*D), v (H*D) | g (H*D) | b (H)  -> o (H*D)
/// Per head as gdn, with a decay for each key channel: exp(-exp(A_log) softplus(g + dt_bias)), with log_decay_limit
/// exp(-limit sigmoid(exp(A_log) (g + dt_bias))). Source: Kimi Linear, 2025.
///
/// Example: Kimi-K3 (96 heads of 128) at TP16, bf16 conv, fp32 ssm: conv (3, 2304), ssm (6, 128, 128), 407,040 bytes.
struct KdaSpec {
  std::int64_t heads = 0;        ///< H, of q, k and v alike, >= 1
  std::int64_t head_dim = 0;     ///< D, >= 1
  std::int64_t conv_kernel = 4;  ///< K, >= 1
  bool conv_holds_drafts = false;///< the convolution state grows with the speculative tokens, as newer engines have it
  /// Largest -log of a token's decay, > 0, for layers that bound it: -limit sigmoid(exp(A_log) (g + dt_bias)); 0: the
  /// log of the decay is -exp(A_log) softplus(g + dt_bias), without a bound. Ling, GLM-5.3 and Kimi-K3 have 5.
  double log_decay_limit = 0;
  bool operator==(const KdaSpec&) const = default;
};

/// conv (K-1, 3*H*D/TP), with conv_holds_drafts (K-1+s, 3*H*D/TP); ssm (H/TP, D, D). Where the context keeps all taps
/// the convolution has a step more, which nothing reads. Pre: no drafts then.
/// Source: vLLM MambaStateShapeCalculator.
/// Throws SpecError("engine.tensor_parallel") where TP does not divide the heads.
StateSpec state_of(const KdaSpec& layer, const StateContext& context);

/// What every family brings (StateFamily).
const FamilyTable<KdaSpec>& family_of(const KdaSpec&);
std::vector<AxisRule> axis_rules(const KdaSpec& layer, const StateContext& context);
LayerSizes sizes_of(const KdaSpec& layer);
std::vector<ChannelSection> sections_of(const KdaSpec& layer);
KdaSpec part_of_rank(KdaSpec layer, std::int64_t ranks);
KdaSpec reduced(KdaSpec layer, const Reduction& reduction);
void run_token(const KdaSpec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output);
void run_chunk(const KdaSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state);

}  // namespace hybridkv
