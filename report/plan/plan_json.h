#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "planner/cache_plan.h"

namespace hybridkv {

/// Identifies the JSON of a plan; a change that breaks readers gets a new number.
inline constexpr const char* plan_schema_id = "hybridkv-plan/1";

/// The JSON Schema of a plan, made from its fields. report/plan.schema.json is its text.
nlohmann::ordered_json plan_schema();

/// Everything a plan holds, under stable names in a stable order; described by report/plan.schema.json.
/// Sizes are in the unit of their name, strides and offsets of views in elements, absent options null.
/// Pre: all real numbers are finite.
nlohmann::ordered_json to_json(const PlanSet& plans);

/// Writes the text of to_json(set) piece by piece, so that one plan at a time is whole in memory: `plan_at(i)` makes
/// plan i with all that JSON shows, `set` needs the others' fields alone. Pre: at least one plan.
void write_json(const PlanSet& set, const std::function<CachePlan(std::size_t)>& plan_at,
                const std::function<void(const std::string&)>& write);

/// One decision as it stands in a plan's `derivation`: {result{symbol, value, unit}, rule, inputs[], source}.
nlohmann::ordered_json to_json(const Decision& decision);

/// The plans that to_json wrote: `plan_set_from_json(to_json(x)) == x`.
/// Throws InputError with the path of the value ("plans[0].specs[2].kind") for another schema, a missing or unknown
/// key, a wrong type, a reference to a spec or pool that is not there, and a derived value that does not follow.
PlanSet plan_set_from_json(const nlohmann::ordered_json& json);

}  // namespace hybridkv
