#pragma once

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
};

/// A value of a scenario that was given several values: a list, "1..16" or "16..128 step 16" where one value
/// belongs. Values are texts as written, a range one by one, a model by its name or file.
struct SweepAxis {
  std::string path;  ///< "engine.tensor_parallel"
  std::vector<std::string> values;
  bool operator==(const SweepAxis&) const = default;
};

/// Reads a scenario by the name of a shipped one ("qwen3.5-397b") or by the path of a file. What holds a '/' or
/// ends in .yaml, .yml or .json is a path.
/// Throws InputError: no such scenario (with the closest names), unreadable file, directory, broken YAML.
ScenarioFile load_scenario(const std::string& name_or_path);

/// As load_scenario, from a text; messages call it `shown_as`, relative paths in it start at `directory`.
ScenarioFile parse_scenario(std::string_view yaml, const std::string& shown_as, const std::string& directory = ".");

/// Names of the scenarios that come with hybridkv.
std::vector<std::string> shipped_scenarios();

/// Lays one value over the file: "engine.tensor_parallel=4". The value is YAML, so lists, ranges and mappings
/// work; relative paths in it start at the working directory. Messages about it say "--set engine.…=4" for place.
/// Throws InputError where the text is no KEY=VALUE, the value is broken YAML or a part of the key is no mapping;
/// unknown keys and wrong values are found when the scenario is read.
void apply_override(ScenarioFile& file, std::string_view assignment);

/// As above for a flag of its own: apply_override(file, "engine.attention_pack_size", "[1,2]", "--pack 1,2").
void apply_override(ScenarioFile& file, const std::string& path, std::string_view value, const std::string& shown_as);

/// Every value of the file that is given several values, in the order of the file.
/// Throws InputError: an empty list, a value twice, a range that cannot be read, more than 10,000 values.
std::vector<SweepAxis> sweep_axes(const ScenarioFile& file);

/// One scenario per point of the sweep over all axes but engine.attention_pack_size, which stays a list in
/// Scenario::pack_sizes; the first axis varies slowest. Without a sweep the one scenario of the file.
/// Throws InputError for anything wrong in the file, and for more than 10,000 points.
std::vector<Scenario> expand(const ScenarioFile& file);

/// The one scenario of a file. Throws InputError as expand, and for an axis other than
/// engine.attention_pack_size.
Scenario read_scenario(const ScenarioFile& file);

/// Scenario::simulate and the places of its values alone, for a cache that is described without a model. What else the
/// file holds is not read. Throws InputError for anything wrong in its section `simulate`.
Scenario read_simulate_section(const ScenarioFile& file);

}  // namespace hybridkv
