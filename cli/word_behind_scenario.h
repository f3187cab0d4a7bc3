#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace hybridkv {

/// A word that a command takes behind SCENARIO, which may be left out.
struct WordBehindScenario {
  std::string name;                                        ///< "NUMBER"
  std::string meaning;                                     ///< for --help
  std::string once;                                        ///< why there is one: "one number is explained at a time"
  std::function<bool(const std::string& text)> is_written; ///< is a text such a word?
};

/// Adds it to a command that has SCENARIO, and puts what is typed into `word`, which outlives the command. A SCENARIO
/// that is written as such a word and is no file is one.
void add_word_behind_scenario(CLI::App& command, std::string& word, const WordBehindScenario& kind);

}  // namespace hybridkv
