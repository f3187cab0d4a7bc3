#pragma once

#include "scenarios/key_table.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// The keys of a scenario's section `simulate`.
const Section<SimulateRequest>& simulate_keys();

}  // namespace hybridkv
