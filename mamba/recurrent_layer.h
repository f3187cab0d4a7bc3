#pragma once

#include <cstdint>
#include <vector>

#include "mamba/recurrent_spec.h"

namespace hybridkv {

/// The layer one rank computes: heads, channels and groups divided, groups replicated where TP exceeds them.
/// Throws SpecError as `state_of`. Law: its state on one rank is that of the whole layer on `tensor_parallel` ranks.
RecurrentSpec on_rank(const RecurrentSpec& layer, std::int64_t tensor_parallel);

/// What a recurrence multiplies and adds besides its inputs. Lists that a family has no use for are empty.
struct RecurrentWeights {
  std::vector<float> conv;       ///< (tap, channel), the last tap weighs the newest input
  std::vector<float> conv_bias;  ///< (channel)
  std::vector<float> decay_log;  ///< A_log; mamba1 (channel, state), else (head)
  std::vector<float> step_bias;  ///< dt_bias; mamba1 (channel), mamba2 and gdn (head), kda (head, channel)
  std::vector<float> skip;       ///< D; mamba1 (channel), mamba2 (head)
  bool operator==(const RecurrentWeights&) const = default;
};

/// One recurrent layer of one rank, ready to compute.
///
/// Every family maps a flat row of inputs per token to a flat row of outputs; the projections around it belong to the
/// network. Rows, with "|" between parts and c the channels that pass the causal convolution and silu first:
///   mamba1      c: x (I)                               | dt (I) | B (N) | C (N)       -> y (I)
///   mamba2      c: x (H*P), B (G*N), C (G*N)           | dt (H)                       -> y (H*P)
///   gdn         c: q (Hk*Dk), k (Hk*Dk), v (Hv*Dv)     | b (Hv) | a (Hv)              -> o (Hv*Dv)
///   kda         c: q (H*D), k (H*D), v (H*D)           | g (H*D) | b (H)              -> o (H*D)
///   short_conv  B (D) | C (D) | x (D); B*x passes the convolution, without silu       -> C * conv (D)
///   linear      q (H*D) | k (H*D) | v (H*D), each through silu                        -> o (H*D)
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
