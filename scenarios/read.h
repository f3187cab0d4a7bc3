#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario.h"
#include "scenarios/yaml_tree.h"

namespace hybridkv {

/// A scenario file and the overrides that were laid over it; nothing but its YAML has been checked yet.
struct ScenarioFile {
  std::string name;  ///< of the file, without folder and ".yaml"
  YamlNode root;
  bool is_model_alone = false;  ///< a model stands where a scenario is expected; `root` holds nothing but it
};

/// Reads a scenario by the name of a shipped one ("qwen3.5-397b"), by the path of a file, or from standard input ("-").
/// What holds a '/' or ends in .yaml, .yml or .json is a path. Where a model is named instead (a shipped one, a model
/// file, a published config.json or its folder), the scenario is that model and nothing else yet.
/// Throws InputError: no such scenario (with the closest names), unreadable file, directory, broken YAML.
ScenarioFile load_scenario(const std::string& name_or_path);

/// As load_scenario, from a text; messages call it `shown_as`, relative paths in it start at `directory`.
ScenarioFile parse_scenario(std::string_view yaml, const std::string& shown_as, const std::string& directory = ".");

/// Does the file say one of these keys of a section: "engine", {"memory", "num_blocks"}?
bool says_any(const ScenarioFile& file, std::string_view section, std::initializer_list<std::string_view> keys);

/// Reads what the file says of its model and nothing else. Throws InputError as read_scenario.
void check_model(const ScenarioFile& file);

/// Names of the scenarios that come with hybridkv.
std::vector<std::string> shipped_scenarios();

/// Lays one value over the file: "engine.tensor_parallel=4". The value is YAML, so lists, ranges and mappings
/// work; null takes a key of the file back; relative paths in it start at the working directory. Messages about it say
/// "--set engine.…=4" for place.
/// Throws InputError where the text is no KEY=VALUE, the value is broken YAML or a part of the key is no mapping;
/// unknown keys and wrong values are found when the scenario is read. `flag`: the one that it was typed for.
void apply_override(ScenarioFile& file, std::string_view assignment, std::string_view flag = "--set");

/// As above for a flag of its own: apply_override(file, "engine.attention_pack_size", "[1,2]", "--pack 1,2").
void apply_override(ScenarioFile& file, const std::string& path, std::string_view value, const std::string& shown_as);

/// As above for a value that is no text: what a program gives. Its place is its own.
void apply_override(ScenarioFile& file, const std::string& path, YamlNode value);

/// The one scenario of a file; pack sizes and lengths may be several. Throws InputError for anything wrong in the file,
/// and for any other value that is given several values (scenarios/sweep_axes.h).
Scenario read_scenario(const ScenarioFile& file);

/// Scenario::simulate and the places of its values alone, for a cache that is described without a model. What else the
/// file holds is not read. Throws InputError for anything wrong in its section `simulate`.
Scenario read_simulate_section(const ScenarioFile& file);

/// As read_scenario, of a file that is known to sweep nothing.
Scenario read_values(const ScenarioFile& file);

/// Reads one key of the root again ("engine") into a scenario that read_values made of the same tree but for the values
/// of that key. Places are not kept. Throws InputError as read_values.
void read_section(const YamlNode& root, const std::string& section, Scenario& scenario);

}  // namespace hybridkv
