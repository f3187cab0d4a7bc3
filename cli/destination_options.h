#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "ask/transfer/transfer.h"
#include "cli/scenario_options.h"

namespace hybridkv {

/// The side that a cache goes to: a scenario of its own, or the source's with values laid over it.
struct DestinationOptions {
  std::string to;                   ///< a scenario; empty: the source's
  std::vector<std::string> to_set;  ///< --to-set KEY=VALUE
  std::string tokens;               ///< --tokens, digits; empty: the longest of the source
};

/// Adds --to-set and --tokens.
void add_destination_options(CLI::App& command, DestinationOptions& options);

/// Both sides, read; what was assumed of models, and which pack of several is taken, is said on standard error.
/// `shown`: how messages call `to`. Throws InputError with the place of what is wrong.
TransferQuestion transfer_question(const ScenarioOptions& from, const DestinationOptions& to, const char* shown);

}  // namespace hybridkv
