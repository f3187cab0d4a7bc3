#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/scenario_options.h"

namespace hybridkv {

/// Words of a command line in which those behind "--" are the value of --command: "plan -- vllm serve MODEL -tp 2". A
/// single word that is neither "-" nor a command in quotes stays what it is.
std::vector<std::string> with_engine_command(std::vector<std::string> words);

/// Adds --command, whose settings fill the options that nobody typed; what was read of it is said on standard error.
/// Pre: the other options of a scenario are added.
void add_engine_command(CLI::App& command, ScenarioOptions& options);

}  // namespace hybridkv
