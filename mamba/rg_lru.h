#pragma once

#include "mamba/state_family.h"

namespace hybridkv {

/// A real-gated linear recurrent unit behind a short convolution (RecurrentGemma, Griffin).
///
/// Row of a token, c: what passes the causal convolution first, without silu:
///   c: x (D)  -> h (D)
/// Per channel i, with state h of (channel) and gates of the block of channels ("head") that i is in:
///   r = sigmoid(sum_j W_r[j,i] x_j + b_r),  g = sigmoid(sum_j W_x[j,i] x_j + b_x),
///   a = exp(-8 r softplus(A_log)),  h = a h + sqrt(1 - a^2) g x
/// Weights: decay_log is A_log (channel), step_bias the biases b_x and b_r (gate, channel), gates W_x and W_r.
/// Published models leave the square root out at position 0, which a state does not know of; no size depends on it.
/// Source: De et al., Griffin, 2024.
///
/// Example: RecurrentGemma-2B at TP1 in bf16 conv and fp32 ssm: conv (3, 2560), ssm (2560), 25,600 bytes.
struct RgLruSpec {
  std::int64_t lru_width = 0;    ///< D, >= 1
  std::int64_t heads = 0;        ///< blocks of channels that gates read, >= 1, a divisor of D
  std::int64_t conv_kernel = 4;  ///< K, >= 1
  bool operator==(const RgLruSpec&) const = default;
};

/// conv (K-1, D/TP), ssm (D/TP). Source: transformers RecurrentGemmaRecurrentBlock.
/// Throws SpecError("engine.tensor_parallel") where TP does not divide the heads, since a gate reads all of its block.
StateSpec state_of(const RgLruSpec& layer, const StateContext& context);

/// What every family brings (StateFamily).
const FamilyTable<RgLruSpec>& family_of(const RgLruSpec&);
std::vector<AxisRule> axis_rules(const RgLruSpec& layer, const StateContext& context);
LayerSizes sizes_of(const RgLruSpec& layer);
std::vector<ChannelSection> sections_of(const RgLruSpec& layer);
RgLruSpec part_of_rank(RgLruSpec layer, std::int64_t ranks);
RgLruSpec reduced(RgLruSpec layer, const Reduction& reduction);
void run_token(const RgLruSpec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output);
void run_chunk(const RgLruSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state);

}  // namespace hybridkv
