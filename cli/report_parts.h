#pragma once

#include <vector>

#include "ask/kernels/kernel_card.h"
#include "cli/progress.h"
#include "report/plan/scenario_report.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// Fills in what `recommend` says of the scenario with its own search, and the first screen with its pick; where it
/// refuses, why, and the first screen of the best pack. The pick is held against the kernels. Pre: the report has its
/// plans and findings.
void add_recommendation(ScenarioReportInputs& report, const Scenario& scenario, const std::vector<KernelCard>& kernels,
                        Progress& progress);

/// What `simulate` says of the scenario's plans and trace; why not, where it refuses.
AnsweredPart replay_part(const Scenario& scenario, Progress& progress);

}  // namespace hybridkv
