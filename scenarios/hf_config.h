#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "scenarios/hf_fields.h"
#include "scenarios/yaml_tree.h"

namespace hybridkv {

/// True where the tree is a published config (it names a model_type or architectures, or has a text_config) and no
/// model file.
bool is_hf_config(const YamlNode& root);

/// A model file from a published Hugging Face config.json: the tree that the reader of model files takes, with every
/// value at the place of the field that it comes from. Only what the config declares counts, by its own model_type or
/// architectures; a name of a model means nothing. `name` becomes the model's name, `source` what its file says of
/// where the numbers come from; `dtype` is the model's element type, whatever the config says of it. `as_class` names
/// the model_type whose class reads the config, empty for its own. Throws InputError: a class that is not known (with
/// those of a like name), a kind of cache that is not planned, a field that is missing (with the names looked for), a
/// value that is no number, and fields that contradict each other.
YamlNode import_hf_config(const YamlNode& root, const std::string& name, const std::string& source,
                          std::optional<DType> dtype = {}, const std::string& as_class = "");

/// The same from the fields of a config, which the values of the model file then stand in.
YamlNode import_hf_fields(const HfFields& fields, const std::string& name, const std::string& source,
                          std::optional<DType> dtype = {});

/// The fields of a config, read as this class says, or as its own where the name is empty.
HfFields hf_fields(const YamlNode& root, const std::string& as_class);

/// The name for the model of a config at this path: that of the file without ".json", or of its folder where the file
/// is called config.json; "imported" where there is neither, and for standard input.
std::string hf_model_name(const std::string& path);

}  // namespace hybridkv
