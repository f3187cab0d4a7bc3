#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace hybridkv {

/// A word that may stand where the cursor is.
struct CompletedWord {
  std::string word;         ///< whole, with what was typed of it
  std::string description;  ///< empty where it says nothing that the word does not
};

struct Completion {
  std::vector<CompletedWord> candidates;
  bool files = false;    ///< names of files too
  bool folders = false;  ///< names of folders too
};

/// What may stand in place of the last of these words, which is empty or was begun; the others stand before it, without
/// the program's name.
Completion complete(CLI::App& app, const std::vector<std::string>& words);

/// The answer to words for which asks_for_candidates() is true, of which the first two ask: a word a line, behind a tab
/// what it means; at last ":files" or ":folders" where names of those are as good.
std::string candidate_lines(CLI::App& app, const std::vector<std::string>& words);

/// Are these the words of such a script? They are no command line to parse: any of them may be half typed.
bool asks_for_candidates(const std::vector<std::string>& words);

}  // namespace hybridkv
