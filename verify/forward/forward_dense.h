#pragma once

#include <vector>

#include "verify/forward/forward_network.h"

namespace hybridkv {

/// The network run dense over one sequence.
struct DenseRun {
  std::vector<double> rows;  ///< (token, width), each row of RMS one
  /// How far a right engine may be from them, of rows of RMS one: three times as far as other runs of the same
  /// sequence are, in which every operation is off by what fp32 leaves in a sum of as many products, in which values to
  /// be cached that this may round to the other neighbour of their dtype are so rounded, all of them or about every
  /// second one, and states are stored in their dtype after every token, the most often that an engine can. What the
  /// network makes of an error, by its depth or where it divides by little, is in it: the runs compute it.
  double may_differ = 0;
};

/// The network run dense and unpaged in float64 over one sequence, token contents given by position: no blocks, no
/// chunks, no cache, every state from the first token on. What every paged run of the network is compared with.
DenseRun dense_forward(const ForwardNetwork& network, const std::vector<std::uint64_t>& contents);

}  // namespace hybridkv
