#pragma once

#include "scenarios/read.h"

namespace hybridkv {

/// A scenario without a file, for flags to be laid over. What a message says of a value that no flag set stands at
/// "command line", which has no lines.
ScenarioFile flags_alone();

}  // namespace hybridkv
