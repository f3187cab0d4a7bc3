#pragma once

#include <cstdint>

#include "base/error.h"

namespace hybridkv {

/// What one of several ranks holds of heads, groups or channels that they share: `count` of them from `first` on.
struct RankShare {
  std::int64_t first = 0;
  std::int64_t count = 0;
  constexpr std::int64_t end() const { return first + count; }
  constexpr bool operator==(const RankShare&) const = default;
};

/// Can so many ranks share so many parts? Yes where one number divides the other.
constexpr bool can_share(std::int64_t parts, std::int64_t ranks) { return parts % ranks == 0 || ranks % parts == 0; }

/// Equal runs of neighbours where the ranks divide the parts; where they are more, each part on neighbouring ranks, one
/// a rank. Pre: can_share, 0 <= rank < ranks. Source: vLLM QKVParallelLinear; so does Mamba2's group replication.
/// Example: 2 heads, 4 ranks: rank 1 has head 0, rank 2 head 1.
constexpr RankShare rank_share(std::int64_t parts, std::int64_t ranks, std::int64_t rank) {
  expects(parts > 0 && ranks > 0 && can_share(parts, ranks), "ranks divide what they share, or are divided by it");
  expects(rank >= 0 && rank < ranks, "a rank is one of them");
  if (parts % ranks == 0) return {rank * (parts / ranks), parts / ranks};
  return {rank / (ranks / parts), 1};
}

}  // namespace hybridkv
