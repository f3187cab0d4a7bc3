#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hybridkv::testing {

/// Checks a value against a JSON Schema (draft 2020-12) that uses no more than: type, enum, properties, required,
/// additionalProperties (false), items, minItems, minimum, oneOf, and $ref into its own $defs.
/// Returns one line per violation, "/plans/0/pools: missing"; throws std::logic_error for any other keyword, so that no
/// schema can lean on a check that is not made.
std::vector<std::string> schema_violations(const nlohmann::json& schema, const nlohmann::json& value);

}  // namespace hybridkv::testing
