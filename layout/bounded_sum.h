#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layout/answer.h"

namespace hybridkv {

/// One summand coefficient * x with 0 <= x <= bound.
struct BoundedTerm {
  std::int64_t coefficient = 0;  ///< >= 0
  std::int64_t bound = 0;        ///< >= 0
};

/// Whether a sum can be reached, and how.
struct BoundedSum {
  Answer reachable = Answer::no;
  std::vector<std::int64_t> x;  ///< one per term if reachable is yes, else empty
};

/// Nodes `find_bounded_sum` visits before it gives up; some milliseconds.
inline constexpr std::int64_t max_bounded_sum_nodes = 1 << 18;

/// Whether integers 0 <= x_i <= bound_i exist with sum(coefficient_i * x_i) == target.
///
/// Every question about layouts that meet in memory is of this kind: strides are the coefficients, positions
/// the x. Exact: "no" is proven, "yes" comes with the x, "unknown" means more than `max_nodes` nodes of search.
/// Terms that step through one gapless row of multiples become one term first, so densely tiled inner axes
/// and equal outer strides (millions of pages) cost nothing; then a search from the largest coefficient down,
/// which visits only values that leave a reachable and divisible rest, nearest to their share of it first. Two
/// remaining terms need no search.
/// Throws InputError where the largest sum does not fit 64 bits.
BoundedSum find_bounded_sum(std::span<const BoundedTerm> terms, std::int64_t target,
                            std::int64_t max_nodes = max_bounded_sum_nodes);

}  // namespace hybridkv
