#pragma once

#include <string>
#include <vector>

#include "planner/model_spec.h"

namespace hybridkv {

/// A model that comes with hybridkv.
struct ShippedModel {
  ModelSpec model;
  std::vector<std::string> aliases;     ///< further published models with the same shapes
  std::vector<std::string> unverified;  ///< facts that could not be confirmed; empty: all were
  std::string file;                     ///< below scenarios/: "models/Qwen3.5-27B.yaml"
};

/// All of them, by name of the file.
const std::vector<ShippedModel>& shipped_models();

/// The shipped model of this name or alias, upper and lower case alike; null for any other.
const ShippedModel* find_shipped_model(const std::string& name);

/// "; did you mean '…'?" for a name that is no shipped model.
std::string shipped_model_suggestion(const std::string& name);

}  // namespace hybridkv
