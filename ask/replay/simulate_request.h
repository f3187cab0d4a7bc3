#pragma once

#include "base/error.h"
#include "planner/cache_plan.h"
#include "scenarios/scenario.h"
#include "simulator/blocks/cache_geometry.h"
#include "simulator/replay_abilities.h"

namespace hybridkv {

/// The cache of a plan with what the scenario's section `simulate` says of its scheduler.
CacheGeometry with_settings(CacheGeometry geometry, const SimulateRequest& request);

/// The same with the memory of the host behind it, where the request has any: a block takes there what its id takes.
/// Throws SpecError, path "simulate.host_…", where what is said of it belongs to none.
CacheGeometry with_settings(CacheGeometry geometry, const SimulateRequest& request, const CachePlan& plan);

/// The simulator's error under the name that a scenario has for the value at fault: "geometry.watermark" is
/// "simulate.watermark". Other errors stay as they are.
SpecError scenario_error(const SpecError& error);

/// Throws SpecError where the request asks for what no replay of the engine can do.
void refuse_unable(const SimulateRequest& request, const ReplayAbilities& able);

}  // namespace hybridkv
