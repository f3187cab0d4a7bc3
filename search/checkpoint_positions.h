#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hybridkv {

/// Later prompts that share the first `depth` units of an earlier one and then part from it.
struct SharedDepth {
  std::int64_t depth = 0;  ///< match units, >= 1
  double weight = 0;       ///< how many, >= 0
  bool operator==(const SharedDepth&) const = default;
};

/// Where states are kept and what they leave to compute.
struct CheckpointPositions {
  std::vector<std::int64_t> positions;  ///< ascending, in units
  double recomputed = 0;                ///< units of the shared prefixes computed again, weighted
  bool operator==(const CheckpointPositions&) const = default;
};

/// Units computed again with states at these positions: who shares d units goes on from the last position <= d.
double recomputed_units(std::span<const SharedDepth> depths, std::span<const std::int64_t> positions);

/// The `most` positions or fewer that leave least to compute again. Dynamic programming over the depths that occur, of
/// which an optimum needs no other; among N of them the last position but one never moves back as the last one moves on
/// (the cost of a stretch is a weight times a length: the quadrangle inequality holds), so divide and conquer takes
/// O(N m log N) where the plain recurrence takes O(N^2 m). Of equal choices the one with fewest and lowest positions.
/// Pre: depths ascend without a repetition; most >= 0.
CheckpointPositions best_positions(std::span<const SharedDepth> depths, std::int64_t most);

}  // namespace hybridkv
