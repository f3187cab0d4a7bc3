#pragma once

#include <string>
#include <vector>

#include "planner/model_spec.h"
#include "scenarios/key_table.h"

namespace hybridkv {

/// Reads the value of the key `model`: the name of a shipped model, {file: …} (a model file, or a published
/// config.json) or a model written out.
/// Places are recorded below `path`, also those in the file of the model; for every layer the path of the
/// planner ("model.layers[3].attention") leads to the kind that it is of.
/// Throws InputError as the readers of single values, and for a file that cannot be read.
ModelSpec read_model(ReadContext& context, const std::string& path, const YamlNode& node);

/// Path of the model file that a scenario names; `name` is the value of its key `file`. Of a folder that is the
/// config.json in it.
std::string model_file_path(const YamlNode& name);

/// A model file as a whole.
struct ModelFile {
  ModelSpec model;
  std::vector<std::string> aliases;
  std::vector<std::string> unverified;  ///< facts that could not be confirmed; empty: all were
};

/// Reads the mapping of a model file, or of a model written out in a scenario.
ModelFile read_model_mapping(ReadContext& context, const std::string& path, const YamlNode& node);

/// The tree of a text that is YAML or JSON: what ends in .json is JSON, and so is what begins as an object of JSON
/// does.
/// Throws InputError as parse_yaml and parse_json.
YamlNode parse_yaml_or_json(std::string_view text, SourceText source);

/// True for the tree of a model: a model file or a published config.json, no scenario.
bool is_model(const YamlNode& root);

/// The tree of a model file; of a published config.json the model file that it becomes. `notes`, where given, gets what
/// the config declares of caches and the model file does not hold.
/// Throws InputError as parse_yaml_or_json and import_hf_config.
YamlNode parse_model_text(std::string_view text, SourceText source, std::vector<std::string>* notes = nullptr);

/// The config.json in the folder `path` where there is one, that of a model on the hub ("hf://…", scenarios/hf_hub.h),
/// else the path itself. Throws as hub_config.
std::string config_in(const std::string& path);

/// Reads an embedded model file. Pre: it is one of embedded_files().
ModelFile read_shipped_model(ReadContext& context, const std::string& path, const std::string& file);

}  // namespace hybridkv
