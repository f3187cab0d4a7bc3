#pragma once

#include <span>
#include <vector>

#include "mamba/recurrent_weights.h"

namespace hybridkv {

/// A state in float64, dense: what a sequence has left behind in one layer. Empty lists where the family has none.
struct RecurrentStateRef {
  std::vector<double> conv;  ///< (K-1, channel), oldest input first
  std::vector<double> ssm;   ///< axes as the family's `state_of` names them, row by row
  bool operator==(const RecurrentStateRef&) const = default;
};

/// What the references of several families are made of: one token, float64, nothing that a chunked form uses too.
namespace reference {

using Row = std::span<const double>;

/// The convolution's output for one token; the token becomes the newest entry of its state.
std::vector<double> convolve(const RecurrentWeights& weights, Row input, std::vector<double>& history);

std::vector<double> silu_of(std::vector<double> values);

/// The vector at length one, but for the 1e-6 that keeps short ones finite.
std::vector<double> unit_length(Row values);

double dot(Row a, Row b);

/// The delta rule of one head with a decay for each key channel: `s` (value, key), q and k of length one.
void delta_rule(Row q, Row k, Row v, Row decay, double beta, std::span<double> s, std::span<double> output);

}  // namespace reference

}  // namespace hybridkv
