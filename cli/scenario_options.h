#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "planner/cache_plan.h"
#include "scenarios/read.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// A flag of one command that stands for a key of the scenario, and the value it was given.
struct FlagValue {
  std::string key;    ///< "simulate.driver"
  std::string value;  ///< as YAML
  std::string shown;  ///< how messages call it: "--driver closed-loop"
};

/// The flags by which a command is told what to plan.
struct ScenarioOptions {
  std::string scenario;                ///< name of a shipped one or a file; empty: built from the flags alone
  std::vector<std::string> overrides;  ///< --set KEY=VALUE
  std::string model;
  std::string pack;
  std::string tensor_parallel;
  std::string memory;
  std::string max_model_len;
  std::vector<FlagValue> flags;        ///< of the command itself; they win over everything else
};

/// Adds SCENARIO, --set, --model, --pack, --tp, --memory and --max-model-len to a command.
void add_scenario_options(CLI::App& command, ScenarioOptions& options);

/// The scenario file with the flags laid over it, its values not read yet. Throws InputError with the place of what is
/// wrong.
ScenarioFile scenario_file(const ScenarioOptions& options);

/// The scenario with the flags laid over it. Throws InputError with the place of what is wrong.
Scenario read_scenario(const ScenarioOptions& options);

/// Scenario::simulate alone, from the overrides and flags, for a cache that is described without a plan.
Scenario read_simulate_section(const ScenarioOptions& options);

/// The text in double quotes, as YAML reads it back.
std::string yaml_quoted(const std::string& text);

/// The word as a shell reads it back, in quotes only where it needs them.
std::string shell_word(const std::string& text);

/// The words after a command that name this scenario again, quoted for a shell: "qwen3.5-397b --pack 4".
std::string shell_words(const ScenarioOptions& options);

/// Plans of the scenario for these pack sizes. A planner's refusal is thrown as InputError with the place of the value
/// that caused it.
PlanSet plan_scenario(const Scenario& scenario, const std::vector<std::int64_t>& pack_sizes);

}  // namespace hybridkv
