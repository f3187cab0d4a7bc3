#pragma once

#include <string>

namespace hybridkv {

/// Identifies the format of scenario files; its $id ends with the version.
inline constexpr const char* scenario_schema_id = "hybridkv-scenario/1";

/// The JSON Schema (draft 2020-12) of scenario files, made from the table of keys; the model's is its
/// "$defs/model". Ends with a line end. scenarios/scenario.schema.json is this text.
std::string scenario_schema();

/// The JSON Schema of model files: a reference into the scenario's. scenarios/models/model.schema.json.
std::string model_schema();

}  // namespace hybridkv
