#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace hybridkv {

/// The words after the program's name, in which `help plan` stands for `plan --help`.
std::vector<std::string> command_words(int argc, const char* const* argv);

/// Why these words cannot be understood: an unknown command or flag, with the one that may have been meant. Empty where
/// both are known; whether values are right is left to the parser.
std::string usage_problem(const CLI::App& app, const std::vector<std::string>& words);

/// Which help goes on from here: "Run `hybridkv plan --help` ...".
std::string help_advice(const CLI::App& app, const std::vector<std::string>& words);

/// What a bare `hybridkv` prints: the commands to begin with.
std::string first_steps();

}  // namespace hybridkv
