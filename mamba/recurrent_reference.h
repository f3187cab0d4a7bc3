#pragma once

#include <span>
#include <vector>

#include "mamba/recurrent_layer.h"

namespace hybridkv {

/// A state in float64, dense: what a sequence has left behind in one layer. Empty lists where the family has none.
struct RecurrentStateRef {
  std::vector<double> conv;  ///< (K-1, channel), oldest input first
  std::vector<double> ssm;   ///< axes as the family's `state_of` names them, row by row
  bool operator==(const RecurrentStateRef&) const = default;
};

/// The state at the start of a sequence: all zero.
RecurrentStateRef initial_state(const RecurrentSpec& rank_layer);

/// Runs tokens one by one in float64, slow and obviously right; every chunked form is compared with it.
/// `inputs` (token, input_width) and `outputs` (token, output_width) as RecurrentLayer lists them.
///
/// After the causal convolution and silu, per head with state S of (value, key), decay in (0, 1):
///   mamba1  s[i,n] = exp(-exp(A_log[i,n]) d_i) s[i,n] + d_i B_n x_i,  y_i = sum_n C_n s[i,n] + D_i x_i,
///           d = softplus(dt + dt_bias)                                        (Gu and Dao, Mamba, 2023)
///   mamba2  S = exp(-exp(A_log) d) S + d x B^T,  y = S C + D x; head h reads group h / (H/G)
///                                                                             (Dao and Gu, Mamba-2, 2024)
///   gdn     S = g S,  S = S + beta (v - S k) k^T,  o = S q / sqrt(Dk); q and k of length one,
///           g = exp(-exp(A_log) softplus(a + dt_bias)),  beta = sigmoid(b), with doubled_beta 2 sigmoid(b);
///           value head h reads key head h / (Hv/Hk)                         (Yang et al., Gated Delta Networks, 2024)
///   kda     as gdn with a decay for each key channel; with log_decay_limit it is
///           exp(-limit sigmoid(exp(A_log) (g + dt_bias)))                     (Kimi Linear, 2025)
///   linear  S = exp(-exp(A_log)) S + v k^T,  o = S q                        (Qin et al., Lightning Attention-2, 2024)
void run_reference(const RecurrentLayer& layer, std::span<const double> inputs, RecurrentStateRef& state,
                   std::span<double> outputs);

}  // namespace hybridkv
