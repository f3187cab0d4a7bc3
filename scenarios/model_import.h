#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "planner/model_spec.h"
#include "scenarios/hf_explain.h"

namespace hybridkv {

/// A published config.json as a model file.
struct ImportedModel {
  ModelSpec model;   ///< what a scenario reads from the config itself, and from `yaml`
  std::string yaml;  ///< the model file
  std::vector<std::string> notes;  ///< what the config declares of caches and the model file does not hold
  std::vector<ImportedNumber> numbers;  ///< where each number comes from
  std::vector<std::string> readings;    ///< what Transformers keeps otherwise than engines
};

/// How a config is to be read.
struct ImportOptions {
  std::string name;            ///< of the model; empty: made from the path (hf_model_name)
  std::optional<DType> dtype;  ///< wins over the element type that the config declares
  std::string as_class;        ///< the model_type whose class reads it; empty: its own
};

/// Imports the config.json at `path`, in the folder `path`, of a model on the hub or, for "-", on standard input.
/// Throws InputError as import_hf_config, and for a file that cannot be read or is no JSON.
ImportedModel import_model(const std::string& path, const ImportOptions& options = {});

/// A model file to fill in, of nine lines, each with what it says.
std::string model_template();

}  // namespace hybridkv
