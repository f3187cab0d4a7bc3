#pragma once

#include "cli/progress.h"
#include "report/plan/scenario_report.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// What `recommend` says of the scenario with its own search; why not, where it refuses.
AnsweredPart recommendation_part(const Scenario& scenario, Progress& progress);

/// What `simulate` says of the scenario's plans and trace; why not, where it refuses.
AnsweredPart replay_part(const Scenario& scenario, Progress& progress);

}  // namespace hybridkv
