#pragma once

#include <string>

#include "planner/model_spec.h"

namespace hybridkv {

/// A published config.json as a model file.
struct ImportedModel {
  ModelSpec model;   ///< what a scenario reads from the config itself, and from `yaml`
  std::string yaml;  ///< the model file
};

/// Imports the config.json at `path`; an empty `name` is made from the path (hf_model_name).
/// Throws InputError as import_hf_config, and for a file that cannot be read or is no JSON.
ImportedModel import_model(const std::string& path, const std::string& name);

}  // namespace hybridkv
