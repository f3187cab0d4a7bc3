#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

namespace hybridkv {

/// What the program prints with `--format json`, and what was assumed on the way.
struct JsonAnswer {
  std::string json;
  std::vector<std::string> notes;
};

/// The long questions: `verify`, `bound`, `compare`, `transfer`, `import_config`.
void register_answers(nanobind::module_& module);
/// `simulate`, and its records.
void register_simulate(nanobind::module_& module);
/// `recommend`.
void register_recommend(nanobind::module_& module);
/// `sweep_size` and `sweep_rows`.
void register_sweep(nanobind::module_& module);

}  // namespace hybridkv
