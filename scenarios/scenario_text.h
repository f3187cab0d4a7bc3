#pragma once

#include <string>

#include "scenarios/read.h"

namespace hybridkv {

/// The file with all that was laid over it, as YAML that reads back as the same scenario from `folder`: paths of files
/// are as they are found from there. Comments are not kept.
std::string scenario_text(const ScenarioFile& file, const std::string& folder);

}  // namespace hybridkv
