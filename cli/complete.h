#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace hybridkv {

/// A word that may stand where the cursor is.
struct Candidate {
  std::string word;         ///< whole, with what was typed of it
  std::string description;  ///< empty where it says nothing that the word does not
};

struct Completion {
  std::vector<Candidate> candidates;
  bool files = false;    ///< names of files too
  bool folders = false;  ///< names of folders too
};

/// What may stand in place of the last of these words, which is empty or was begun; the others stand before it, without
/// the program's name.
Completion complete(CLI::App& app, const std::vector<std::string>& words);

}  // namespace hybridkv
