#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/scenario_options.h"

namespace hybridkv {

/// A flag that stands for a key of the scenario.
CLI::Option* add_key(CLI::App& command, ScenarioOptions& options, const std::string& flag, const char* key,
                     const char* type, const char* doc);

/// A flag without a value that stands for a key and its value.
void add_switch(CLI::App& command, ScenarioOptions& options, const std::string& flag, const char* key,
                const char* value, const char* doc);

/// Traffic of prompts of one length, as flags describe it.
struct SimpleTraffic {
  std::optional<std::int64_t> prompt_tokens;         ///< n of every prompt; unset: there is no such traffic
  std::optional<std::int64_t> shared_prefix_tokens;  ///< that all prompts begin with; unset: all of it
};

/// Adds --trace-form and --skip-bad-lines to a command.
void add_trace_file_options(CLI::App& command, ScenarioOptions& options);

/// Adds --trace, --trace-form, --skip-bad-lines, --seed, --prompt-tokens and --shared-prefix-tokens to a command;
/// --requests, whose default differs, is the command's own.
void add_trace_options(CLI::App& command, ScenarioOptions& options, SimpleTraffic& traffic);

/// Adds --eviction and --checkpoint-back.
void add_policy_options(CLI::App& command, ScenarioOptions& options);

/// Adds --driver, --in-flight and the three costs of a step.
void add_driver_options(CLI::App& command, ScenarioOptions& options);

/// Adds the simple traffic to the flags of the scenario, as prompts written out: --requests of them, by default 300.
/// Throws InputError where the flags contradict each other.
void apply_simple_traffic(ScenarioOptions& options, const SimpleTraffic& traffic);

}  // namespace hybridkv
