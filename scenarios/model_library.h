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

/// The shipped model of this name or alias, upper and lower case alike; null for any other. An organisation before the
/// name and suffixes of publishers behind it ("Qwen/Qwen3.5-4B-FP8", "-Instruct") are looked through.
const ShippedModel* find_shipped_model(const std::string& name);

/// The name or alias of the model that `name` leads to, as it is published. Pre: find_shipped_model(name) found it.
std::string shipped_name(const ShippedModel& shipped, const std::string& name);

/// What was assumed for a name with suffixes that no shipped model has: of which model the layers are, and that
/// quantised weights leave the KV cache as it is. Empty where nothing was. Pre: find_shipped_model(name) found it.
std::string assumed_of_name(const ShippedModel& shipped, const std::string& name);

/// The name of each, in their order.
std::vector<std::string> shipped_model_own_names();

/// All names and aliases.
std::vector<std::string> shipped_model_names();

/// "; did you mean '…'?" for a name that is no shipped model.
std::string shipped_model_suggestion(const std::string& name);

}  // namespace hybridkv
