#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engines/command_grammar.h"
#include "scenarios/command_words.h"
#include "scenarios/read.h"
#include "scenarios/scenario.h"
#include "scenarios/sweep_axes.h"

namespace hybridkv {

/// A flag of one command that stands for a key of the scenario, and the value it was given.
struct FlagValue {
  std::string key;    ///< "simulate.driver"
  std::string value;  ///< as YAML
  std::string shown;  ///< how messages call it: "--driver closed_loop"
};

/// The flags by which a command is told what to plan.
struct ScenarioOptions {
  const CLI::App* command = nullptr;   ///< that they belong to
  std::string scenario;                ///< name of a shipped one, a file, or a model; empty: built from the flags alone
  std::vector<std::string> overrides;  ///< --set KEY=VALUE
  std::string model;
  std::string release;
  std::string engines;                 ///< a list of releases, of commands that answer for each
  std::string backend_profile;
  std::string pack;
  std::string tensor_parallel;
  std::string memory;
  std::string max_model_len;
  std::string cache_mode;
  std::string kv_dtype;
  std::string ssm_dtype;
  std::vector<std::string> engine_command;  ///< words of a command that starts an engine; empty: none was given
  std::shared_ptr<const ScenarioOptions> beside_command;  ///< what was typed beside it; null: none was given
  KeyValues boot;                      ///< of the start, from a command that starts an engine: "boot.utilization", …
  std::vector<FlagValue> flags;        ///< of the command itself; they win over everything else
  void (*fill)(ScenarioFile&) = nullptr;  ///< gives flags alone what its command can do without; null: nothing
};

/// Adds SCENARIO, --set, --model, --engine, --backend-profile, --pack, --tp, --memory, --max-model-len, --mode,
/// --kv-dtype, --ssm-dtype and --command to a command.
void add_scenario_options(CLI::App& command, ScenarioOptions& options);

/// What was given to the flag of that key; null where the key has no flag of its own.
std::string* option_of_key(ScenarioOptions& options, std::string_view key);

/// The last value that was given to a key by a flag of the command itself; null where none was.
const FlagValue* flag_of(const ScenarioOptions& options, const std::string& key);

/// The command as it was typed, as far as its options were understood: "hybridkv plan --memory 40G".
std::string typed_command(const CLI::App& command);

/// The flags that stand for one key of the scenario each and were given, with what was given.
std::vector<std::pair<std::string, std::string>> given_flags(const ScenarioOptions& options);

/// The flags of add_scenario_options without SCENARIO, for commands that take several.
void add_scenario_flags(CLI::App& command, ScenarioOptions& options);

/// Says in the help of a command that its answer is of one pack, or of one length.
void describe_one_pack(CLI::App& command);
void describe_one_length(CLI::App& command);

/// Adds --zip to a command, whose values are keys with commas between.
void add_zip_option(CLI::App& command, std::vector<std::string>& zips);

/// The keys of each --zip. Throws InputError where one is empty.
std::vector<ZippedKeys> zipped_keys(const std::vector<std::string>& zips);

/// "KEY=V1,V2" of a flag as the key and the YAML list it means. Throws InputError where it is no such assignment.
FlagValue varied_values(const std::string& flag, const std::string& assignment);

/// The scenario file with the flags laid over it, its values not read yet. Throws InputError with the place of what is
/// wrong, and where a plan cannot do without something that was not given, with all of it and a command that has it.
ScenarioFile scenario_file(const ScenarioOptions& options);

/// Lays everything that was typed over a file, but for a scenario's name.
void lay_over(ScenarioFile& file, const ScenarioOptions& options);

/// The scenario with the flags laid over it; what was assumed on the way is said on standard error.
/// Throws InputError with the place of what is wrong.
Scenario read_scenario(const ScenarioOptions& options);

/// The files that a question about it reads: of the scenario, its model and its trace.
std::vector<std::string> inputs_of(const Scenario& scenario);

/// Says on standard error what was assumed of a model or left unused.
void show_notes(const std::vector<std::string>& notes);

/// Scenario::simulate alone, from the overrides and flags, for a cache that is described without a plan.
Scenario read_simulate_section(const ScenarioOptions& options);

/// The words after a command that name this scenario again; those of `flags` are of the command that has them.
CommandWords command_words(const ScenarioOptions& options);

/// The same quoted for a shell: "qwen3.5-397b --pack 4".
std::string shell_words(const ScenarioOptions& options);

}  // namespace hybridkv
