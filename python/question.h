#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "scenarios/read.h"

namespace hybridkv {

/// The scenario that a call from Python asks about: `scenario` is None, a name or path (load_scenario), a mapping, a
/// model's config, and `keys` lays one value after the other over it, under the names of python/keywords.h. The model
/// is a name, a path (names_model_file), a mapping or a config. Nothing but its form has been checked.
/// Throws InputError; the place of a keyword's value is "tensor_parallel=0".
ScenarioFile question_of(nanobind::handle scenario, const nanobind::dict& keys);

/// The tree of a model's config, or nothing of the kind, as what a scenario takes for a model.
YamlNode model_node(YamlNode model);

/// Lays the values of a mapping of keywords over a scenario.
void lay_over(ScenarioFile& file, const nanobind::dict& keys);

/// A key that a call says, and its value; the model as model_node has it.
struct AskedKey {
  std::string key;
  YamlNode value;
};

/// Every key that a call says, in the order in which they are laid over each other: those of a mapping in place of a
/// scenario first, then the keywords. What a file or a shipped scenario says is not among them.
std::vector<AskedKey> asked_keys(nanobind::handle scenario, const nanobind::dict& keys);

/// Are packs chosen by a keyword? Else they are the scenario's.
bool chooses_packs(const nanobind::dict& keys);

}  // namespace hybridkv
