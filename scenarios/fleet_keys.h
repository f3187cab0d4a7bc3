#pragma once

#include "scenarios/fleet_question.h"
#include "scenarios/key_table.h"

namespace hybridkv {

/// The keys of a scenario's section `simulate.fleet`.
const Section<FleetQuestion>& fleet_keys();

}  // namespace hybridkv
