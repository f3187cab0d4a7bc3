#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/engine.h"

namespace hybridkv {

/// A flag of a command that says something of the cache.
struct UsedFlag {
  std::string typed;  ///< "--tensor-parallel-size 4"
  std::string key;    ///< of a scenario, or "boot.…": "engine.tensor_parallel"
  std::string value;  ///< as a scenario takes it; empty: the flag says the engine's default
};

/// The command that starts an engine, read as a question about its cache.
struct EngineCommand {
  const Engine* engine = nullptr;  ///< the release whose users type it today, unless another one is asked for
  std::string model;               ///< its name or file; empty: none is named
  KeyValues keys;                  ///< of a scenario, and "boot.…" (engines/command_grammar.h)
  std::vector<UsedFlag> used;        ///< flags that say them, in their order
  std::vector<std::string> unused;   ///< those that change nothing of the cache, or only what weights take
  std::vector<std::string> unknown;  ///< those that nobody knows here
};

/// The words of a command in a text: a line of a shell, a script, or the lists of arguments in a Kubernetes file
/// (`args: [--model, …]`). Throws InputError where it is none of these.
std::vector<std::string> words_of_command(std::string_view text);

/// Reads the first command of an engine in these words; separators of a shell end it. `release`: an engine by name, for
/// words that begin with a flag, and where several releases have one command; empty: none is asked for.
/// `without`: the position in `used` of a flag that is read as if it were not there, so that what follows from several
/// flags together follows from the others; nothing: all are read.
/// Throws InputError: no engine's command, that of another engine than `release`, a flag without its value, a file that
/// cannot be read, and a flag that is nearly a known one, with that.
EngineCommand read_engine_command(const std::vector<std::string>& words, std::string_view release = {},
                                  std::optional<std::size_t> without = std::nullopt);

}  // namespace hybridkv
