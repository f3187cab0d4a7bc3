#pragma once

#include <cstdint>
#include <optional>

#include "simulator/schedule/simulation.h"
#include "simulator/schedule/simulation_stats.h"

namespace hybridkv {

/// Requests of an open loop that come faster than they are served: at one time more of them wait than ever run at once,
/// so that a new one waits longer than it takes all that run to end.
struct QueueOverload {
  std::int64_t waiting = 0;  ///< requests, at most at one time
  std::int64_t running = 0;  ///< requests, at most at one time; fewer
  bool operator==(const QueueOverload&) const = default;
};

/// The overload of a replay; nothing where the engine keeps up, and in other loops, in which requests wait for others.
std::optional<QueueOverload> overload_of(const DriverSpec& driver, const SimulationStats& stats);

/// Is it overloaded? Nothing where no open loop was replayed.
std::optional<bool> is_overloaded(const DriverSpec& driver, const SimulationStats& stats);

}  // namespace hybridkv
