#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "ask/conform/conform_case.h"
#include "planner/cache_plan.h"

namespace hybridkv {

/// What becomes of every prompt of a case, one prompt after the other, as drivers answer it: of blocks the hits and the
/// numbers of chunks, of a tree or of slots the record of every prompt with what is held after it. A prompt that never
/// runs hits -1. Nothing where the case has no prompts, or no replay of its cache is known.
std::optional<nlohmann::ordered_json> replay_record(const ConformCase& one, const CachePlan& plan);

}  // namespace hybridkv
