#pragma once

#include "scenarios/key_table.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// The keys of a whole scenario.
const Section<Scenario>& scenario_keys();

}  // namespace hybridkv
