#pragma once

#include <cstdint>
#include <vector>

#include "simulator/fleet/fleet_settings.h"
#include "simulator/fleet/router_settings.h"

namespace hybridkv {

/// Replicas, and the routers to try before them.
struct FleetQuestion {
  std::int64_t replicas = 0;            ///< 0: one cache without a router
  std::vector<RouterKind> routers = {}; ///< each tried by itself; empty: a few that differ, of those the cache can have
  RouterSettings router = {};           ///< of each, but for its kind and seed
  std::vector<double> slowness = {};    ///< (replica) FleetSpec::slowness
  std::vector<Outage> outages = {};
  DecodeSpec decode = {};               ///< replicas besides, that generate what those above computed the prompts of
  bool is_asked() const { return replicas > 0; }
  bool operator==(const FleetQuestion&) const = default;
};

}  // namespace hybridkv
