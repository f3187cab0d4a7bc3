#pragma once

#include "mamba/state_family.h"

namespace hybridkv {

/// An mLSTM layer (xLSTM): a matrix memory per head with exponential gates, its normaliser and their scale.
///
/// Row of a token, "|" between parts:
///   q (H*Dk) | k (H*Dk) | v (H*Dv) | i (H) | f (H)  -> h (H*Dv)
/// Per head, with memory C of (value, key), normaliser n of (key) and m, the log of the scale of both:
///   l = log sigmoid(f - A_log),  m' = max(l + m, j),  a = exp(l + m - m'),  b = exp(j - m')
///   C = a C + b v k^T,  n = a n + b k,  h = C q / (max(|n . q|, exp(-m')) + 1e-6), q divided by sqrt(Dk)
/// j = i + dt_bias, and A_log (head) is minus the bias of the forget gate. Gates come with their soft caps.
/// Source: Beck et al., xLSTM, 2024; transformers mlstm_recurrent_step_native.
///
/// Example: xLSTM-7B at TP1: ssm (8, 131329) fp32: 512 rows of 256 keys, their normaliser and scale; 4,202,528 bytes.
struct XlstmSpec {
  std::int64_t heads = 0;           ///< H, >= 1
  std::int64_t key_head_dim = 0;    ///< Dk, >= 1
  std::int64_t value_head_dim = 0;  ///< Dv, >= 1
  bool operator==(const XlstmSpec&) const = default;
};

/// ssm (H/TP, (Dv+1)*Dk + 1): the memory, value by value, the normaliser as one value more, and the scale.
/// Throws SpecError("engine.tensor_parallel") where TP does not divide the heads.
StateSpec state_of(const XlstmSpec& layer, const StateContext& context);

/// What every family brings (StateFamily).
const FamilyTable<XlstmSpec>& family_of(const XlstmSpec&);
std::vector<AxisRule> axis_rules(const XlstmSpec& layer, const StateContext& context);
LayerSizes sizes_of(const XlstmSpec& layer);
std::vector<ChannelSection> sections_of(const XlstmSpec& layer);
XlstmSpec part_of_rank(XlstmSpec layer, std::int64_t ranks);
XlstmSpec reduced(XlstmSpec layer, const Reduction& reduction);
void run_token(const XlstmSpec& spec, const RecurrentWeights& weights, std::span<const double> input,
               RecurrentStateRef& state, std::span<double> output);
void run_chunk(const XlstmSpec& spec, const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state);

/// Numbers that one head keeps.
std::int64_t head_numbers(const XlstmSpec& layer);

}  // namespace hybridkv
