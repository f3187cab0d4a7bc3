#pragma once

#include <optional>
#include <string>

#include "planner/model_parameters.h"
#include "scenarios/hf_fields.h"

namespace hybridkv {

/// The parameters of the model of a published config: which layers it has says `model`, the model file that the config
/// becomes; how large they are say the fields, and what no field says the traits of its architecture.
/// Nothing where a size is missing that every model has, and where a number is too large for 64 bits.
/// Pre: `model` has kinds and layers.
std::optional<ModelParameters> hf_parameters(const HfFields& fields, const YamlNode& model);

}  // namespace hybridkv
