#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace hybridkv {

/// What helps and manual pages say of a command, before either has its own form.

/// "-f, --format FORMAT", and of a positional its name.
std::string option_label(const CLI::Option& option);

/// "hybridkv plan [SCENARIO] [flags]".
std::string usage_line(const CLI::App& app);

struct OptionGroup {
  std::string heading;
  std::vector<const CLI::Option*> options;
};

/// Positionals, then the flags of each group in the order in which the groups begin; without hidden ones.
std::vector<OptionGroup> option_groups(const CLI::App& app);

}  // namespace hybridkv
