#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "ask/flag_effects.h"
#include "cli/scenario_options.h"

namespace hybridkv {

/// Words of a command line in which those behind "--" are the value of --command: "plan -- vllm serve MODEL -tp 2". A
/// single word that is neither "-" nor a command in quotes stays what it is.
std::vector<std::string> with_engine_command(std::vector<std::string> words);

/// Adds --command, whose settings fill the options that nobody typed; what was read of it is said on standard error.
/// Pre: the other options of a scenario are added.
void add_engine_command(CLI::App& command, ScenarioOptions& options);

/// The flags of that command which set something of a plan, each with the question as it is without it; empty where no
/// command was given. The options must outlive what is returned.
std::vector<FlagLeftOut> flags_left_out(const ScenarioOptions& options);

}  // namespace hybridkv
