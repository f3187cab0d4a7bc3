#pragma once

#include "mamba/state_family.h"

namespace hybridkv {

/// Linear attention with a fixed decay per head (lightning attention: MiniMax-Text-01, Ling).
///
/// Row of a token, "|" between parts:
///   q (H*D) | k (H*D) | v (H*D), each through silu  -> o (H*D)
/// Per head, with state S of (value, key): S = exp(-exp(A_log)) S + v k^T,  o = S q.
/// Source: Qin et al., Lightning Attention-2, 2024.
///
/// Example: MiniMax-Text-01 (64 heads of 128) at TP8 in fp32: ssm (8, 128, 128), 524,288 bytes.
struct LinearAttentionSpec {
  std::int64_t heads = 0;     ///< H, of q, k and v alike, >= 1
  std::int64_t head_dim = 0;  ///< D, >= 1
  bool operator==(const LinearAttentionSpec&) const = default;
};

/// ssm (H/TP, D, D), no convolution. Source: vLLM MambaStateShapeCalculator.
/// Throws SpecError("engine.tensor_parallel") where TP does not divide the heads.
StateSpec state_of(const LinearAttentionSpec& layer, const StateContext& context);

/// What every family brings (StateFamily).
const FamilyTable<LinearAttentionSpec>& family_of(const LinearAttentionSpec&);
std::vector<AxisRule> axis_rules(const LinearAttentionSpec& layer, const StateContext& context);
LayerSizes sizes_of(const LinearAttentionSpec& layer);
std::vector<ChannelSection> sections_of(const LinearAttentionSpec& layer);
LinearAttentionSpec part_of_rank(LinearAttentionSpec layer, std::int64_t ranks);
LinearAttentionSpec reduced(LinearAttentionSpec layer, const Reduction& reduction);
void run_token(const LinearAttentionSpec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output);
void run_chunk(const LinearAttentionSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows,
               RunningState& state);

}  // namespace hybridkv
