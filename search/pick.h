#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "search/pareto_front.h"

namespace hybridkv {

/// How one candidate of a Pareto front is picked.
struct PickRule {
  /// Share of the reference's concurrency that a pick may cost, 0 .. 1; of no account where a concurrency is demanded.
  double most_given_up = 0.05;
  /// Candidates count as alike within this share: of the prompt tokens of the workload, of the bytes of a request.
  double alike = 0.005;
  bool operator==(const PickRule&) const = default;
};

/// A candidate as the pick sees it.
struct PickPoint {
  Objectives objectives;
  std::int64_t settings_changed = 0;  ///< how many settings differ from the default's
};

/// The pick among the points of a Pareto front:
/// 1 those that hold `least_concurrency`; where none does, those that hold most;
/// 2 of these the ones whose re-prefilled tokens exceed the fewest by at most `alike` of `prompt_tokens`;
/// 3 of these the ones whose bytes exceed the fewest by at most `alike`;
/// 4 of these the one that changes fewest settings; then fewest bytes, fewest re-prefilled tokens, the first given.
/// Pre: at least one point.
std::size_t pick_of(std::span<const PickPoint> points, double least_concurrency, std::int64_t prompt_tokens,
                    const PickRule& rule);

}  // namespace hybridkv
