#pragma once

#include <cstdint>
#include <vector>

namespace hybridkv {

/// Neighbouring parts that one rank of the destination reads from one rank of the source.
struct PartsFromRank {
  std::int64_t from_rank = 0;
  std::int64_t from_first = 0;  ///< in the share of the source's rank
  std::int64_t to_first = 0;    ///< in the share of the destination's
  std::int64_t count = 0;
  bool operator==(const PartsFromRank&) const = default;
};

/// Rank of the source that a rank of the destination asks for a part: the one that has it; of several the nearest to
/// its own place among all ranks, so that the readers spread over the copies.
/// Example: 2 heads on 4 ranks to 8: rank 3 asks rank 1 for head 0, rank 4 asks rank 2 for head 1.
std::int64_t nearest_rank(std::int64_t parts, std::int64_t part, std::int64_t from_ranks, std::int64_t to_ranks,
                          std::int64_t to_rank);

/// The share of a rank of the destination by the ranks it comes from, in order. Pre: both numbers of ranks can share
/// the parts.
std::vector<PartsFromRank> parts_from_ranks(std::int64_t parts, std::int64_t from_ranks, std::int64_t to_ranks,
                                            std::int64_t to_rank);

}  // namespace hybridkv
