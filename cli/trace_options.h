#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/scenario_options.h"
#include "scenarios/simple_traffic.h"

namespace hybridkv {

/// A flag that stands for a key of the scenario.
CLI::Option* add_key(CLI::App& command, ScenarioOptions& options, const std::string& flag, const char* key,
                     const char* type, const char* doc);

/// The same of one of replay_flags.
CLI::Option* add_key(CLI::App& command, ScenarioOptions& options, const std::string& flag, const char* type,
                     const char* doc);

/// A flag without a value that stands for a key and its value.
void add_switch(CLI::App& command, ScenarioOptions& options, const std::string& flag, const char* key,
                const char* value, const char* doc);

/// Adds --trace-form and --skip-bad-lines to a command.
void add_trace_file_options(CLI::App& command, ScenarioOptions& options);

/// Adds --trace, --trace-form, --skip-bad-lines, --seed, --prompt-tokens and --shared-prefix-tokens to a command;
/// --requests, whose default differs, is the command's own.
void add_trace_options(CLI::App& command, ScenarioOptions& options, SimpleTraffic& traffic);

/// The same with --requests, in a group of the help of their own: for commands whose answer replays one trace.
void add_replayed_trace(CLI::App& command, ScenarioOptions& options, SimpleTraffic& traffic);

/// Adds --acceptance to a command whose replays have drafts.
void add_acceptance_option(CLI::App& command, ScenarioOptions& options);

/// Adds --eviction and --checkpoint-back.
void add_policy_options(CLI::App& command, ScenarioOptions& options);

/// Adds --driver, --in-flight and the three costs of a step.
void add_driver_options(CLI::App& command, ScenarioOptions& options);

/// Adds the simple traffic to the flags of the scenario, as prompts written out: --requests of them, by default
/// default_simple_requests.
/// Throws InputError where the flags contradict each other.
void apply_simple_traffic(ScenarioOptions& options, const SimpleTraffic& traffic);

/// The question as it is typed for commands that replay its trace: the flags of a command that has no others.
CommandWords replayed_words(const ScenarioOptions& options, const SimpleTraffic& traffic);

}  // namespace hybridkv
