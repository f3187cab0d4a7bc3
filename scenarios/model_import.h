#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// A published config.json as a model file.
struct ImportedModel {
  ModelSpec model;   ///< what a scenario reads from the config itself, and from `yaml`
  std::string yaml;  ///< the model file
  std::vector<std::string> notes;  ///< what the config declares of caches and the model file does not hold
};

/// Imports the config.json at `path`, in the folder `path` or, for "-", on standard input; an empty `name` is made from
/// the path (hf_model_name). `dtype` wins over the element type that the config declares.
/// Throws InputError as import_hf_config, and for a file that cannot be read or is no JSON.
ImportedModel import_model(const std::string& path, const std::string& name, std::optional<DType> dtype = {});

}  // namespace hybridkv
