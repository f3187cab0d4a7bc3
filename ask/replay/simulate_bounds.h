#pragma once

#include "ask/replay/simulate.h"

namespace hybridkv {

/// Enters the bounds of every cache of the scenario into what it found, where the scenario asks for upper bounds. Pre:
/// the answer is that of the caches that the scenario plans. Throws as check_order.
void add_bounds(SimulateAnswer& answer, const Scenario& scenario);

}  // namespace hybridkv
