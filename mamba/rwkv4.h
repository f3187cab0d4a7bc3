#pragma once

#include "mamba/state_family.h"

namespace hybridkv {

/// A layer of RWKV-4: time mixing with a weighted average per channel, and the token before for both mixings.
///
/// Row of a token, "|" between parts, c: what passes a causal convolution of two taps, the shift by a token:
///   c: x (D) | c: m (D) | k (A) | v (A)  -> o (A) | shifted x (D) | shifted m (D)
/// x is what time mixing shifts and m what channel mixing does; models mix both with the token before at several
/// ratios, each a convolution of the same rows. Per channel, with numerator, denominator and the log P of their scale:
///   o = (e^P num + e^(u + k) v) / (e^P den + e^(u + k)),
///   e^P' num' = e^(P - exp(w)) num + e^k v, den' alike with 1 for v,  P' = max(P - exp(w), k); w is decay_log, u skip
/// A denominator of zero says that nothing was seen, whatever P is, so that a state of zeros begins a sequence.
/// Source: Peng et al., RWKV, 2023; transformers rwkv_linear_attention_cpu.
///
/// Example: RWKV-4 of 4,096 channels at TP1 in bf16: conv (1, 8192), ssm (4096, 3) fp32, 65,536 bytes.
struct Rwkv4Spec {
  std::int64_t hidden_size = 0;     ///< D, >= 1
  std::int64_t attention_size = 0;  ///< A, channels of time mixing, >= 1
  bool operator==(const Rwkv4Spec&) const = default;
};

/// conv (1, 2D), whole on every rank, since mixing comes before the projections; ssm (A/TP, 3): numerator, denominator
/// and scale side by side. Throws SpecError("engine.tensor_parallel") where TP does not divide A.
StateSpec state_of(const Rwkv4Spec& layer, const StateContext& context);

/// What every family brings (StateFamily).
const FamilyTable<Rwkv4Spec>& family_of(const Rwkv4Spec&);
std::vector<AxisRule> axis_rules(const Rwkv4Spec& layer, const StateContext& context);
LayerSizes sizes_of(const Rwkv4Spec& layer);
std::vector<ChannelSection> sections_of(const Rwkv4Spec& layer);
Rwkv4Spec part_of_rank(Rwkv4Spec layer, std::int64_t ranks);
Rwkv4Spec reduced(Rwkv4Spec layer, const Reduction& reduction);
void run_token(const Rwkv4Spec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output);
void run_chunk(const Rwkv4Spec& spec, const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state);

}  // namespace hybridkv
