#pragma once

#include <cstddef>

#include "scenarios/read.h"
#include "scenarios/scenario.h"

namespace hybridkv::fuzz {

/// Plans the scenario where that is cheap and checks one thing that `plan` and `explain` make of it, which one by
/// `choice`: a text can be written, or the JSON of the plans reads back as the same plans. Throws what the planner
/// throws.
void check_plans(const Scenario& scenario, std::size_t choice);

/// Reads a scenario as `plan` and `sweep` do; checks its plans and those of one point of its sweep, which by `choice`.
void check_scenario(const ScenarioFile& file, std::size_t choice);

}  // namespace hybridkv::fuzz
