#pragma once

#include <string>

#include "scenarios/yaml_tree.h"

namespace hybridkv {

/// A scalar of a model file that is made, not read; it stands at `place`.
YamlNode tree_scalar(std::string text, const Place& place);

/// A mapping of a model file that is made, without keys so far.
YamlNode tree_mapping(const Place& place);

/// Adds a key at the end. Pre: the mapping does not have it.
void tree_add(YamlNode& mapping, const std::string& key, YamlNode value);

/// The text of a model file in the style of the shipped ones: one key a line, each kind of layer in one line. Reading
/// it gives the same tree but for the places. Pre: a mapping with the keys of a model file.
std::string model_yaml(const YamlNode& model);

}  // namespace hybridkv
