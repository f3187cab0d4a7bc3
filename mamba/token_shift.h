#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mamba/state_family.h"

namespace hybridkv {

/// The shift by one token of RWKV layers: time mixing and channel mixing each read the token before beside their own,
/// so a causal convolution of two taps over both rows side by side. It comes before all projections, so every rank
/// keeps it whole.
inline constexpr std::int64_t shift_taps = 2;

/// Its tensor, conv (1, 2 * hidden), and why.
StateTensor shift_tensor(std::int64_t hidden_size, const StateContext& context);
std::vector<AxisRule> shift_rules(std::int64_t hidden_size);

/// What time mixing and channel mixing shift, whole on every rank.
std::vector<ChannelSection> shift_sections(std::int64_t hidden_size);

/// The first columns of a row through the shift, into the last columns of its output.
void shift_token(const RecurrentWeights& weights, std::span<const double> input, RecurrentStateRef& state,
                 std::span<double> output);
void shift_chunk(const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state);

}  // namespace hybridkv
