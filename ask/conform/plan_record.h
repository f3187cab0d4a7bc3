#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "planner/cache_plan.h"

namespace hybridkv {

/// The figures of a plan that engines compute too, in the order in which one follows from another, as drivers answer
/// them. Pre: a plan of one allocation with all of its details and one length.
nlohmann::ordered_json plan_record(const CachePlan& plan);

/// The decision that says why a figure is what it is, of the plan or of a replay; nothing where none does. `figure`:
/// its place in the record, "groups[2].block_size_tokens".
std::optional<Decision> decision_on(const CachePlan& plan, const std::string& figure);

}  // namespace hybridkv
