#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "search/pick.h"
#include "search/search_result.h"

namespace hybridkv {

// How every search chooses. A Candidate is a WeighedCandidate of some engine.

/// May the candidate be picked?
inline bool eligible(const WeighedCandidate& candidate) { return candidate.in_space && candidate.meets_limits; }

/// A candidate that leaves more requests unserved than an eligible one is no choice: it does not meet the limits.
template <class Candidate>
void drop_unserving(std::vector<Candidate>& candidates) {
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (const Candidate& candidate : candidates)
    if (eligible(candidate)) fewest = std::min(fewest, candidate.unserved_requests);
  for (Candidate& candidate : candidates)
    if (candidate.unserved_requests > fewest) candidate.meets_limits = false;
}

/// Positions of the Pareto front of the eligible candidates of which `wanted` is true.
template <class Candidate, class Wanted>
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
template <class Candidate>
std::vector<std::size_t> front_of(const std::vector<Candidate>& candidates) {
  return front_of(candidates, [](const Candidate&) { return true; });
}

/// By what picks are made.
struct PickLimits {
  PickRule rule;
  std::optional<double> min_concurrency;  ///< requests that must fit at once
  std::int64_t prompt_tokens = 0;         ///< of the workload

  /// The concurrency that a pick has to hold beside a reference of that concurrency.
  double least_of(double reference) const {
    return min_concurrency.value_or((1 - rule.most_given_up) * reference);
  }
  bool holds_enough(double concurrency) const { return concurrency >= min_concurrency.value_or(1); }
};

/// Position of the pick among those of a front. Pre: it is not empty.
template <class Candidate>
std::size_t pick_from(const std::vector<Candidate>& candidates, const std::vector<std::size_t>& front, double least,
                      const PickLimits& limits) {
  std::vector<PickPoint> points;
  for (const std::size_t at : front) points.push_back({candidates[at].objectives, candidates[at].settings_changed});
  return front[pick_of(points, least, limits.prompt_tokens, limits.rule)];
}

/// The concurrency that a pick has to hold among candidates, whose reference `result` names.
template <class Candidate>
double least_concurrency(const SearchResult& result, const std::vector<Candidate>& candidates,
                         const PickLimits& limits) {
  return limits.least_of(
      result.reference_candidate ? candidates[*result.reference_candidate].objectives.concurrency : 0);
}

/// Marks the front, and fills front, least_concurrency and pick of the result, whose reference is known. Pre: one is
/// eligible.
template <class Candidate>
void choose_pick(SearchResult& result, std::vector<Candidate>& candidates, const PickLimits& limits) {
  result.front = front_of(candidates);
  for (const std::size_t at : result.front) candidates[at].on_front = true;
  result.least_concurrency = least_concurrency(result, candidates, limits);
  result.pick = pick_from(candidates, result.front, result.least_concurrency, limits);
  std::stable_sort(result.front.begin(), result.front.end(), [&](std::size_t a, std::size_t b) {
    return candidates[a].objectives.reprefilled_tokens < candidates[b].objectives.reprefilled_tokens;
  });
}

/// Adds the pick among candidates whose objectives were changed; they keep their positions.
template <class Candidate>
void add_what_if(SearchResult& result, Assumption assumption, double value, const std::vector<Candidate>& changed,
                 double least, const PickLimits& limits) {
  WhatIf what_if{.assumption = assumption, .value = value};
  if (std::any_of(changed.begin(), changed.end(), [](const Candidate& one) { return eligible(one); })) {
    what_if.pick = pick_from(changed, front_of(changed), least, limits);
    what_if.objectives = changed[*what_if.pick].objectives;
    what_if.stated_pick = changed[result.pick].objectives;
  }
  result.what_ifs.push_back(what_if);
}

/// The pick if more than its own number of requests had to fit at once, and if no prompt shared anything with another.
template <class Candidate>
void add_plain_what_ifs(SearchResult& result, const std::vector<Candidate>& candidates, const PickLimits& limits) {
  const double most = candidates[result.pick].objectives.concurrency;
  std::vector<Candidate> more = candidates;
  for (Candidate& candidate : more)
    candidate.meets_limits = candidate.meets_limits && candidate.objectives.concurrency > most;
  add_what_if(result, Assumption::concurrency, most, more, most, limits);
  std::vector<Candidate> unlike = candidates;
  for (Candidate& candidate : unlike) candidate.objectives.reprefilled_tokens = 0;
  add_what_if(result, Assumption::no_reuse, 0, unlike, least_concurrency(result, unlike, limits), limits);
}

}  // namespace hybridkv
