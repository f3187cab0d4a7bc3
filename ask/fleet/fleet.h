#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ask/replay/simulate.h"
#include "simulator/fleet/fleet_replay.h"

namespace hybridkv {

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

/// What is called while fleets are replayed. Each may be empty.
struct FleetWatch {
  std::function<void(std::size_t routers)> on_start = {};  ///< the fleets are right, so many of every cache
  std::function<void(const SweepProgress&)> on_progress = {};
  /// Of a request that was served. From several threads, but of one cache and router from one at a time.
  std::function<void(std::size_t cache, std::size_t router, const RoutedRequest&)> on_served = {};
};

/// The cache with the memory of so many replicas.
AnyCache with_memory_of(const AnyCache& cache, std::int64_t replicas);

/// Replays the trace of `question` through the fleet that it asks for, for every cache and every router. `bounds`: of
/// the caches, in their order; may be empty. Throws as simulate and FleetReplay; SpecError "simulate.losses" where
/// losses are asked for.
FleetAnswer simulate_fleet(const SimulateQuestion& question, const std::vector<std::optional<LayoutBound>>& bounds,
                           const FleetWatch& watch = {});

}  // namespace hybridkv
