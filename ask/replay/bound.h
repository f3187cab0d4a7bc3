#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ask/clock/time_bound.h"
#include "ask/compare/compare_settings.h"
#include "ask/replay/layout_bound.h"

namespace hybridkv {

/// What one layout finds of a trace, and how far that is from what any policy could find in its memory.
struct BoundAnswer {
  std::string name;              ///< CompareSetting::name
  std::string refused;           ///< why nothing is known, one line; empty: it is
  LayoutBound layout;
  std::string router;                   ///< of a fleet: that finds most, which the layout counts as feasible
  std::int64_t found_tokens = 0;        ///< by the engine's rules, replayed; of a fleet, sent round robin
  std::int64_t token_exact_tokens = 0;  ///< in endless memory, token by token
  std::optional<TimeBound> time;        ///< by a clock, where one is asked for
  std::string no_time;                  ///< why there is none, though one is asked for
};

/// The bounds of every setting beside what its engine finds, one request at a time, at the longest length; of all the
/// replicas of its fleet together, whatever routes between them. With `timed`, of one replica, also the least mean
/// first token of each, and that of a replay by the times of the trace.
/// Throws InputError where no setting has a bound, for several lengths that were typed, and for errors in the trace; as
/// check_order, where a figure is above one that it cannot pass.
std::vector<BoundAnswer> bounds(const std::vector<CompareSetting>& settings,
                                const std::function<void(int done, int total)>& on_progress = {},
                                const std::optional<TimedQuestion>& timed = {});

}  // namespace hybridkv
