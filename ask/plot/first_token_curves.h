#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ask/compare/compare_settings.h"

namespace hybridkv {

/// How long a first token takes in one memory.
struct FirstToken {
  /// Mean seconds; nothing where that much cannot be planned or serves no request, where nobody measured the engine,
  /// and where the queue grows, so that a mean says how long the trace is.
  std::optional<double> seconds;
  bool overloaded = false;  ///< the queue grows while requests come
  bool operator==(const FirstToken&) const = default;
};

/// How long a first token takes over memory, by the clock that settings ask for (simulate.clock).
struct FirstTokens {
  std::vector<std::int64_t> memory_bytes;  ///< ascending, of the first setting: memories_around
  std::vector<std::string> names;          ///< (setting)
  std::vector<std::vector<FirstToken>> of;  ///< (setting, memory)
  std::vector<std::string> clocks;         ///< those of the settings, and how far each is to be trusted
};

/// Replays the trace of each setting by its clock under each memory. Pre: at least one setting; all ask for a clock.
/// Throws as set_clock.
FirstTokens first_token_curves(const std::vector<CompareSetting>& settings);

}  // namespace hybridkv
