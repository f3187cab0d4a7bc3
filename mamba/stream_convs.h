#pragma once

#include "mamba/state_family.h"

namespace hybridkv {

/// Short convolutions of several streams beside attention in one layer (Inkling): of k, of v, of what attention gives
/// and of what the MLP gives. All have as many taps, so one state keeps the rows of all side by side.
///
/// Row of a token, "|" between parts:
///   k (Hk*D) | v (Hk*D) | a (E) | m (E)  -> the same, each through its convolution, without silu
/// Models add the row itself. Source: transformers InklingShortConvolution.
///
/// Example: Inkling 2 at TP1 in bf16: conv (3, 11264), 67,584 bytes.
struct StreamConvsSpec {
  std::int64_t kv_heads = 0;     ///< Hk, >= 1
  std::int64_t head_dim = 0;     ///< D, >= 1
  std::int64_t hidden_size = 0;  ///< E, >= 1
  std::int64_t conv_kernel = 4;  ///< K, >= 2: one tap alone would need no state
  bool scattered = false;        ///< ranks split a and m too, each a run of channels; else every rank keeps them whole
  bool operator==(const StreamConvsSpec&) const = default;
};

/// conv (K-1, 2*Hk*D/TP + 2*E), scattered (K-1, (2*Hk*D + 2*E)/TP). Source: SGLang InklingModelConfig.
/// Throws SpecError("engine.tensor_parallel") where TP does not divide the KV heads, scattered both.
StateSpec state_of(const StreamConvsSpec& layer, const StateContext& context);

/// What every family brings (StateFamily).
const FamilyTable<StreamConvsSpec>& family_of(const StreamConvsSpec&);
std::vector<AxisRule> axis_rules(const StreamConvsSpec& layer, const StateContext& context);
LayerSizes sizes_of(const StreamConvsSpec& layer);
std::vector<ChannelSection> sections_of(const StreamConvsSpec& layer);
StreamConvsSpec part_of_rank(StreamConvsSpec layer, std::int64_t ranks);
StreamConvsSpec reduced(StreamConvsSpec layer, const Reduction& reduction);
void run_token(const StreamConvsSpec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output);
void run_chunk(const StreamConvsSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows,
               RunningState& state);

}  // namespace hybridkv
