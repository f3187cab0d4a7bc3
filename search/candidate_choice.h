#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "search/recommendation.h"

namespace hybridkv {

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

/// A candidate that leaves more requests unserved than an eligible one is no choice: it does not meet the limits.
void drop_unserving(std::vector<Candidate>& candidates);

/// Where a candidate may be picked that harms no kernel, those that do are passed over; then as drop_unserving.
void keep_choices(std::vector<Candidate>& candidates);

/// Positions of the Pareto front of the eligible candidates of which `wanted` is true; unset: of all.
std::vector<std::size_t> front_of(const std::vector<Candidate>& candidates,
                                  const std::function<bool(const Candidate&)>& wanted = {});

/// Position of the pick among those of a front. Pre: it is not empty.
std::size_t pick_from(const std::vector<Candidate>& candidates, const std::vector<std::size_t>& front, double least,
                      const PickLimits& limits);

/// Position of the pick as if no kernel were asked about. Pre: as choose_pick, of candidates before keep_choices.
std::size_t heedless_pick(const Recommendation& result, const PickLimits& limits);

/// Marks the front, and fills front, least_concurrency and pick of the result, whose reference is known. Pre: one
/// candidate is eligible.
void choose_pick(Recommendation& result, const PickLimits& limits);

/// Positions of `most` candidates of the front, >= 2, evenly spaced, with pick and default where they are none of them;
/// the whole front where it is no longer.
std::vector<std::size_t> spread_of_front(const Recommendation& result, std::size_t most);

/// Adds the pick among candidates whose objectives were changed; they keep their positions.
void add_what_if(Recommendation& result, Assumption assumption, double value, const std::vector<Candidate>& changed,
                 const PickLimits& limits);

/// The pick if more than its own number of requests had to fit at once, and if no prompt shared anything with another.
void add_plain_what_ifs(Recommendation& result, const PickLimits& limits);

}  // namespace hybridkv
