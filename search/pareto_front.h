#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hybridkv {

/// What a cache layout costs under a workload, as `recommend` compares it.
struct Objectives {
  std::int64_t reprefilled_tokens = 0;  ///< computed although an earlier prompt held them; few are good
  std::int64_t bytes_per_request = 0;   ///< of one request of a stated length; few are good
  double concurrency = 0;               ///< such requests that fit at once, null block not counted; many are good
  bool operator==(const Objectives&) const = default;
};

/// Is `a` no worse than `b` in every objective and better in at least one?
bool dominates(const Objectives& a, const Objectives& b);

/// Positions of the points that no other one dominates, ascending; of equal points only the first, so that the order
/// of `points` breaks ties. Example: (10, 5, 1), (10, 5, 1), (9, 6, 1), (10, 6, 1) -> 0, 2.
std::vector<std::size_t> pareto_front(std::span<const Objectives> points);

}  // namespace hybridkv
