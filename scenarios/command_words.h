#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/key_flags.h"

namespace hybridkv {

/// A flag as it is typed, and its value; empty: a switch.
struct ReplayFlag {
  std::string flag;
  std::string value;
};

/// A question as the words that stand behind a command which plans it.
struct CommandWords {
  std::string scenario;                              ///< name or path; empty: the rest says it all
  std::vector<std::string> overrides;                ///< KEY=VALUE of --set
  std::array<std::string, key_flags.size()> values;  ///< of key_flags, as typed; empty: not given
  std::vector<ReplayFlag> replay;                     ///< of commands that replay a trace, in the order of writing

  /// The value of the flag of a key. Pre: the key is one of key_flags.
  std::string& value_of(std::string_view key);
  /// Is this flag one of `replay`?
  bool replays_with(std::string_view flag) const;
};

/// The words but for `replay`, quoted for a shell: "qwen3.5-397b --pack 4".
std::string shell_words(const CommandWords& words);

/// `replay` for a shell, a blank before every word.
std::string replay_words(const CommandWords& words);

}  // namespace hybridkv
