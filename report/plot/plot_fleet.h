#pragma once

#include <vector>

#include "ask/plot/fleet_curves.h"
#include "report/plot/plot.h"

namespace hybridkv {

/// What every router finds of the prompts, and what better routing, one store, another layout and another policy could
/// add, a bar a router and cache.
Plot plot_routing_gaps(const FleetCurves& values);

/// What was found, and how evenly the replicas computed, over the trace, a curve a router; one picture a cache.
std::vector<Plot> plot_routing_courses(const FleetCurves& values);

}  // namespace hybridkv
