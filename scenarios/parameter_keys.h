#pragma once

#include "planner/model_parameters.h"
#include "scenarios/key_table.h"

namespace hybridkv {

/// The keys of `parameters` in a model file: experts, and how many parameters each kind of layer has, by part.
const Section<ModelParameters>& parameter_keys();

/// The value of `parameters` that reads back as these.
YamlNode parameters_tree(const ModelParameters& parameters, const Place& place);

}  // namespace hybridkv
