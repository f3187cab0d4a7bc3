#pragma once

#include <cstdint>

#include "ask/clock/timed_replay.h"

namespace hybridkv {

/// The mean time of a first token that no policy of what a cache keeps goes below, and that of a replay.
struct TimeBound {
  TimedAnswer timed;
  std::int64_t requests = 0;
  double replayed = 0;       ///< seconds, by the engine's own rules
  double alone = 0;          ///< seconds, if every request had all that an earlier prompt began with, and ran alone
  /// Seconds, if what each takes for itself of the machine were done in the best order; 0 where requests come once
  /// others have ended.
  double in_best_order = 0;

  /// No policy is below it.
  double least() const { return alone > in_best_order ? alone : in_best_order; }
};

/// Of the cache that a scenario plans, over the trace of its section simulate by its times. Proven for every policy of
/// what is kept, in any memory, of engines that serve in the order of arrival: a request finds at most what a prompt
/// before it began with (TokenExactBound), where requests wait for others any other prompt, as they may overtake each
/// other; it cannot be faster than alone with that, and all of them together need the machine.
/// Throws InputError for a driver that is no open loop, and where requests are left unserved, as no mean is then of the
/// same ones; as set_clock.
TimeBound time_bound(Scenario scenario, const TimedQuestion& question);

}  // namespace hybridkv
