#pragma once

#include <functional>
#include <string_view>

#include "planner/engine_rules.h"

namespace hybridkv {

/// The name of an engine, of that of a release: without what begins with a digit behind a hyphen.
std::string_view without_version(std::string_view release);

/// The release to take for what not all have: the default where it holds of that, else the newest of the first engine
/// with one; null where it holds of none. Releases of an engine stand in the list of all from the oldest on.
const EngineRules* advised_release(const std::function<bool(const EngineRules&)>& holds);

}  // namespace hybridkv
