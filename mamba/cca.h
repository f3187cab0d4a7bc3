#pragma once

#include "mamba/state_family.h"

namespace hybridkv {

/// The convolutions of compressed convolutional attention (ZAYA1), which stand beside attention in one layer: q and k
/// pass two convolutions in a row, and half of v is that of the token before.
///
/// Row of a token, "|" between parts:
///   q, k ((Hq+Hk)*D) | u (V)  -> q, k ((Hq+Hk)*D) | u of the token before (V)
/// With x the row of q and k, z of every channel and y of every head, whose channels read each other:
///   z_t[c] = b[c] + sum_i w_i[c] x_(t-i)[c] over K0 taps,  y_t = d + sum_j W_j z_(t-j) over K1 taps
/// z of tokens before the first is b, as if they were zero. Weights: conv w (tap, channel), conv_bias b, gates W (tap,
/// head, input, output), step_bias d.
/// Source: Figliolia et al., Compressed Convolutional Attention, 2025; transformers ZayaCCAProjection.
///
/// Example: ZAYA1-8B at TP1 in bf16: conv (2, 1280), ssm (1, 128), 5,376 bytes.
struct CcaSpec {
  std::int64_t query_heads = 0;       ///< Hq, >= 1, a multiple of the KV heads
  std::int64_t kv_heads = 0;          ///< Hk, >= 1
  std::int64_t head_dim = 0;          ///< D, >= 1
  std::int64_t depthwise_kernel = 2;  ///< K0, >= 1
  std::int64_t grouped_kernel = 2;    ///< K1, >= 1
  std::int64_t delayed_size = 0;      ///< V, >= 1: half of v, or the hidden state of which an engine projects it
  bool operator==(const CcaSpec&) const = default;
};

/// conv (K0+K1-2, (Hq+Hk)*D/TP), ssm (1, V), whole on every rank and, being an input, of the convolution's type.
/// Source: SGLang ZayaConfig.mamba2_cache_params, which keeps the hidden state as V.
/// Throws SpecError("engine.tensor_parallel") where TP does not divide both the query heads and the KV heads.
StateSpec state_of(const CcaSpec& layer, const StateContext& context);

/// What every family brings (StateFamily).
const FamilyTable<CcaSpec>& family_of(const CcaSpec&);
std::vector<AxisRule> axis_rules(const CcaSpec& layer, const StateContext& context);
LayerSizes sizes_of(const CcaSpec& layer);
std::vector<ChannelSection> sections_of(const CcaSpec& layer);
CcaSpec part_of_rank(CcaSpec layer, std::int64_t ranks);
CcaSpec reduced(CcaSpec layer, const Reduction& reduction);
void run_token(const CcaSpec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output);
void run_chunk(const CcaSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state);

}  // namespace hybridkv
