#pragma once

#include <cstdint>

#include "mamba/recurrent_spec.h"
#include "mamba/recurrent_weights.h"

namespace hybridkv {

/// The layer one rank computes: heads, channels and groups divided, groups replicated where TP exceeds them.
/// Throws SpecError as `state_of`. Law: its state on one rank is that of the whole layer on `tensor_parallel` ranks.
RecurrentSpec on_rank(const RecurrentSpec& layer, std::int64_t tensor_parallel);

/// One recurrent layer of one rank, ready to compute.
///
/// Every family maps a flat row of inputs per token to a flat row of outputs, as the header of the family says; the
/// projections around it belong to the network.
struct RecurrentLayer {
  RecurrentSpec spec;  ///< of one rank, see on_rank
  RecurrentWeights weights;
  bool operator==(const RecurrentLayer&) const = default;
};

/// Floats of one token's inputs. Pre: `rank_layer` is a layer of one rank.
std::int64_t input_width(const RecurrentSpec& rank_layer);
/// Floats of one token's outputs.
std::int64_t output_width(const RecurrentSpec& rank_layer);
/// Channels of the convolution; 0 for a family without one.
std::int64_t conv_channels(const RecurrentSpec& rank_layer);
/// Taps K of the convolution; 1 for a family without one.
std::int64_t conv_taps(const RecurrentSpec& rank_layer);
/// Whether the convolution state holds the inputs of draft tokens too, so that they are taken back by an offset
/// rather than by a state block per token.
bool conv_holds_drafts(const RecurrentSpec& rank_layer);

/// A layer with weights drawn from a seed, decays between about 0.3 and 0.99 a token as trained models have them.
RecurrentLayer random_layer(const RecurrentSpec& rank_layer, std::uint64_t seed);

}  // namespace hybridkv
