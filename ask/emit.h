#pragma once

#include <string>
#include <vector>

#include "engines/emit.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// What can be emitted, by EngineRules::builder: "vllm-builder".
std::vector<std::string> emitted_kinds();

/// The plug-in of that kind that makes the plan of a scenario, its module first. `made_by` is the command. Throws
/// InputError for an unknown kind, one of another engine than the scenario's, several plans, and as the engine does for
/// a plan that it cannot make.
std::vector<EmittedFile> emit(const std::string& kind, const Scenario& scenario, const std::string& made_by,
                              EmitParts parts);

}  // namespace hybridkv
