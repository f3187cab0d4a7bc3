#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/yaml_tree.h"

namespace hybridkv {

/// What the configuration class of a model_type in Hugging Face Transformers says where a file is silent: its fields,
/// and the keys that scenarios/make_class_defaults.py describes. Null where the table has no such class. Source:
/// class_defaults.json, made from the installed package.
std::shared_ptr<const YamlNode> hf_class_defaults(const std::string& model_type);

/// The package that the table was made from: "transformers 5.23.0".
const std::string& hf_defaults_package();

/// The values of model_type in the table, in alphabetical order.
const std::vector<std::string>& hf_known_classes();

/// How to go on with a config of an unknown class that cannot be read: "; ways out: …".
std::string hf_ways_out();

/// The list that a class makes for so many layers from its text ("(3*linear_attention full_attention)"): a list of
/// texts at the place of the node; 0 layers: as many as the text names. Empty where the class says it for another
/// number only.
std::vector<YamlNode> hf_default_layers(const YamlNode& text, std::int64_t layers);

}  // namespace hybridkv
