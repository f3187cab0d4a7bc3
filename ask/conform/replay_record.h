#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "ask/conform/conform_case.h"
#include "planner/cache_plan.h"

namespace hybridkv {

/// What every prompt of a case hits and in which chunks it is computed, one prompt after the other, as drivers answer
/// it: of blocks the hits and the numbers of chunks, of a tree the record of every prompt with what pools and tree hold
/// after it. A prompt that never runs hits -1. Nothing where the case has no prompts, or no replay of its cache is
/// known.
std::optional<nlohmann::ordered_json> replay_record(const ConformCase& one, const CachePlan& plan);

}  // namespace hybridkv
