#pragma once

#include "mamba/state_family.h"

namespace hybridkv {

/// A gated short convolution (LFM2; beside the n-gram embedding of Qwen3.8-Flash-Next): its state is the convolution's
/// alone. The ids of the tokens of an n-gram are read from the request, so no cache keeps them (vLLM 0.33).
///
/// Row of a token, "|" between parts:
///   B (D) | C (D) | x (D)  -> C * conv (D); B*x passes the convolution, without silu
///
/// Example: LFM2.5-1.2B at TP1 in bf16: conv (2, 2048), 8,192 bytes.
struct ShortConvSpec {
  std::int64_t channels = 0;       ///< d, >= 1
  std::int64_t conv_kernel = 3;    ///< K, >= 2: one tap alone would need no state; of a dilated one the taps it spans
  bool conv_holds_drafts = false;  ///< the state keeps rows of draft tokens too; an engine's choice, not the model's
  bool replicated = false;         ///< every rank keeps and computes all channels
  bool operator==(const ShortConvSpec&) const = default;
};

/// conv (K-1, d/TP), replicated (K-1, d), with rows of drafts K-1+s of them. Source: vLLM MambaStateShapeCalculator.
/// Throws SpecError("engine.tensor_parallel") where TP does not divide the channels.
StateSpec state_of(const ShortConvSpec& layer, const StateContext& context);

/// What every family brings (StateFamily).
const FamilyTable<ShortConvSpec>& family_of(const ShortConvSpec&);
std::vector<AxisRule> axis_rules(const ShortConvSpec& layer, const StateContext& context);
LayerSizes sizes_of(const ShortConvSpec& layer);
std::vector<ChannelSection> sections_of(const ShortConvSpec& layer);
ShortConvSpec part_of_rank(ShortConvSpec layer, std::int64_t ranks);
ShortConvSpec reduced(ShortConvSpec layer, const Reduction& reduction);
void run_token(const ShortConvSpec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output);
void run_chunk(const ShortConvSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state);

}  // namespace hybridkv
