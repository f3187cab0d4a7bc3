#pragma once

#include <optional>
#include <span>
#include <string>

#include "ask/clock/served_clock.h"
#include "clock/served_times.h"
#include "simulator/cache_replay.h"

namespace hybridkv {

/// The clock by which a replay went.
struct TimedAnswer {
  ServedClock served;
  ServiceLimits limits;
  double rate = 1;
  std::optional<double> price_per_gpu_hour;

  std::int64_t gpus() const { return served.clock->split().gpus; }
};

/// Lets a scenario's replay go by the clock that it asks for (SimulateRequest::clock), if any: requests come by the
/// times of the trace unless the scenario says a closed loop, and each cache's engine puts its steps together. Throws
/// as served_clock, and InputError for attention data parallel, whose ranks have caches of their own.
std::optional<TimedAnswer> set_clock(Scenario& scenario, const AnyCache& cache);
/// The same by the clock of `question` in place of the scenario's. Pre: it asks for one.
TimedAnswer set_clock(Scenario& scenario, const AnyCache& cache, const TimedQuestion& question);

/// How the engine of a cache that knows no time puts steps together, and what the pools of a rank hold.
LoopRules loop_rules(const AnyCache& cache, const Scenario& scenario, const ClockSplit& split);

}  // namespace hybridkv
