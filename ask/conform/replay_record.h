#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "ask/conform/conform_case.h"
#include "planner/cache_plan.h"

namespace hybridkv {

/// What becomes of every prompt of a case, one prompt after the other, as drivers answer it: what it hits and in how
/// many chunks it is computed (-1 for one that never runs), or more of it in slots. Nothing where the case has no
/// prompts, or no replay of its cache is known.
std::optional<nlohmann::ordered_json> replay_record(const ConformCase& one, const CachePlan& plan);

}  // namespace hybridkv
