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

/// `bound`, `compare`, `import_config`.
void register_answers(nanobind::module_& module);
/// `verify` and `verify_network`.
void register_verify(nanobind::module_& module);
/// `transfer` and `transfer_layouts`, and the list of copies.
void register_transfer(nanobind::module_& module);
/// `simulate`, and its records.
void register_simulate(nanobind::module_& module);
/// `recommend` and `checkpoints`.
void register_recommend(nanobind::module_& module);
/// `boot`, `doctor`, `trace` and `models`.
void register_start(nanobind::module_& module);
/// `sweep_size` and `sweep_rows`.
void register_sweep(nanobind::module_& module);

}  // namespace hybridkv
