#pragma once

#include <cstddef>
#include <vector>

#include "search/recommendation.h"

namespace hybridkv {

/// May the candidate be picked?
inline bool eligible(const Candidate& candidate) { return candidate.in_space && candidate.meets_limits; }

/// Sorts by changed settings, then by layout, match unit (the block first, then descending) and retention.
void sort_candidates(std::vector<Candidate>& candidates);

/// A candidate that leaves more requests unserved than an eligible one is no choice: it does not meet the limits.
void drop_unserving(std::vector<Candidate>& candidates);

/// Positions of the Pareto front of the eligible candidates of which `wanted` is true.
template <class Wanted>
std::vector<std::size_t> front_of(const std::vector<Candidate>& candidates, Wanted wanted) {
  std::vector<std::size_t> positions;
  std::vector<Objectives> points;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!eligible(candidates[i]) || !wanted(candidates[i])) continue;
    positions.push_back(i);
    points.push_back(candidates[i].objectives);
  }
  std::vector<std::size_t> front = pareto_front(points);
  for (std::size_t& at : front) at = positions[at];
  return front;
}

/// Positions of the Pareto front of all eligible candidates.
inline std::vector<std::size_t> front_of(const std::vector<Candidate>& candidates) {
  return front_of(candidates, [](const Candidate&) { return true; });
}

}  // namespace hybridkv
