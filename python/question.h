#pragma once

#include <nanobind/nanobind.h>

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

}  // namespace hybridkv
