#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ask/replay/simulate.h"
#include "simulator/fleet/fleet_replay.h"

namespace hybridkv {

/// Replicas, and the routers to try before them.
struct FleetQuestion {
  std::int64_t replicas = 1;
  std::vector<RouterSettings> routers;  ///< at least one, each tried by itself
  std::vector<double> slowness;         ///< (replica) FleetSpec::slowness
  std::vector<Outage> outages;
  DecodeSpec decode;                    ///< replicas besides, that generate what those above computed the prompts of
};

/// One router before the replicas.
struct RoutedFleet {
  RouterSettings router;
  FleetResult result;

  double found_rate() const { return result.counts.hit_rate(); }
};

/// One cache in every replica.
struct FleetCache {
  std::string name;
  std::vector<RoutedFleet> routers;  ///< in the order of the question
  /// One replica with the memory of all, which finds what any of them has: all requests one after the other.
  ReplayCounts one_store;
  std::optional<LayoutBound> bound;  ///< of any routing and any eviction in the memory of all; where asked for

  /// The router that found most, the first of equals.
  const RoutedFleet& best() const;
};

/// A fleet under a trace, by router.
struct FleetAnswer {
  std::string trace;
  std::int64_t replicas = 1;
  DecodeSpec decode;
  DriverSpec driver;
  std::int64_t requests = 0;       ///< of the whole trace
  std::vector<FleetCache> caches;
  std::optional<TimedAnswer> timed;
};

/// The cache with the memory of so many replicas.
AnyCache with_memory_of(const AnyCache& cache, std::int64_t replicas);

/// Replays the trace through a fleet for every cache of `question` and every router. `bounds`: of the caches, in their
/// order; may be empty. Throws as simulate and FleetReplay; SpecError "simulate.losses" where losses are asked for.
FleetAnswer simulate_fleet(const SimulateQuestion& question, const FleetQuestion& fleet,
                           const std::vector<std::optional<LayoutBound>>& bounds, const SimulateWatch& watch = {});

}  // namespace hybridkv
