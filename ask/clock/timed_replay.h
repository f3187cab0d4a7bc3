#pragma once

#include <optional>
#include <span>
#include <string>

#include "ask/clock/served_clock.h"
#include "clock/served_times.h"
#include "simulator/cache_replay.h"

namespace hybridkv {

/// What a replay by a clock is asked.
struct TimedQuestion {
  ClockQuestion served;
  ServiceLimits limits;
  double rate = 1;                           ///< requests come so many times as fast as the trace says, > 0
  std::optional<double> price_per_gpu_hour;  ///< in whatever money, >= 0
};

/// The clock by which a replay went.
struct TimedAnswer {
  ServedClock served;
  ServiceLimits limits;
  double rate = 1;
  std::optional<double> price_per_gpu_hour;

  std::int64_t gpus() const { return served.clock->split().gpus; }
};

/// Lets a scenario's replay go by a clock: requests come by the times of the trace unless the scenario says a closed
/// loop, and each cache's engine puts its steps together. Throws as served_clock.
TimedAnswer set_clock(Scenario& scenario, const AnyCache& cache, const TimedQuestion& question);

/// How the engine of a cache that knows no time puts steps together, and what its pools hold.
LoopRules loop_rules(const AnyCache& cache, std::int64_t budget);

}  // namespace hybridkv
