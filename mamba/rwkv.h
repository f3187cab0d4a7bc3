#pragma once

#include "mamba/state_family.h"

namespace hybridkv {

/// A layer of RWKV-5, 6 or 7 (Eagle, Finch, Goose): a matrix per head, and the token before for both mixings.
///
/// Row of a token, "|" between parts, c: what passes a causal convolution of two taps, the shift by a token; w from
/// version 6 on, n and a of version 7:
///   c: x (D) | c: m (D) | r (H*N) | k (H*N) | v (H*N) | w (H*N) | n (H*N) | a (H*N)
///     -> o (H*N) | shifted x (D) | shifted m (D)
/// x is what time mixing shifts and m what channel mixing does; models mix both with the token before at several
/// ratios, each a convolution of the same rows. Per head, with state S of (value, key), d decay_log and u skip, both
/// (head, channel):
///   5, 6:  o = S r + v ((u k) . r),  S = S diag(exp(-exp(d + w))) + v k^T; 5 has no w
///   7:     S = S (diag(exp(-exp(-1/2) sigmoid(d + w))) - n (n sigmoid(a))^T) + v k^T,  o = S r; n of length one
/// Source: Peng et al., Eagle and Finch, 2024; RWKV-7 Goose, 2025.
///
/// Example: RWKV-6 of 32 heads of 64 at TP1 in bf16: conv (1, 4096), ssm (32, 64, 64) fp32, 532,480 bytes.
struct RwkvSpec {
  std::int64_t version = 0;      ///< 5, 6 or 7
  std::int64_t hidden_size = 0;  ///< D, >= 1
  std::int64_t heads = 0;        ///< H, >= 1
  std::int64_t head_dim = 0;     ///< N, >= 1
  bool operator==(const RwkvSpec&) const = default;
};

/// conv (1, 2D), whole on every rank, since mixing comes before the projections; ssm (H/TP, N, N).
/// Throws SpecError("engine.tensor_parallel") where TP does not divide the heads.
StateSpec state_of(const RwkvSpec& layer, const StateContext& context);

/// What every family brings (StateFamily).
const FamilyTable<RwkvSpec>& family_of(const RwkvSpec&);
std::vector<AxisRule> axis_rules(const RwkvSpec& layer, const StateContext& context);
LayerSizes sizes_of(const RwkvSpec& layer);
std::vector<ChannelSection> sections_of(const RwkvSpec& layer);
RwkvSpec part_of_rank(RwkvSpec layer, std::int64_t ranks);
RwkvSpec reduced(RwkvSpec layer, const Reduction& reduction);
void run_token(const RwkvSpec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output);
void run_chunk(const RwkvSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state);

/// Parts of a row behind what is shifted, each of all heads: r, k, v, and by version w, n and a.
std::int64_t projections_of(const RwkvSpec& layer);

}  // namespace hybridkv
