#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ask/compare/compare_settings.h"

namespace hybridkv {

/// How long a first token takes over memory, by the clock that settings ask for (simulate.clock).
struct FirstTokens {
  std::vector<std::int64_t> memory_bytes;  ///< ascending, of the first setting: memories_around
  std::vector<std::string> names;          ///< (setting)
  /// (setting, memory) mean seconds; nothing where that much cannot be planned or serves no request, and where nobody
  /// measured the engine.
  std::vector<std::vector<std::optional<double>>> seconds;
  std::string clock;                       ///< which, and how far it is to be trusted; empty: all are nothing
};

/// Replays the trace of each setting by its clock under each memory. Pre: at least one setting; all ask for a clock.
/// Throws as set_clock.
FirstTokens first_token_curves(const std::vector<CompareSetting>& settings);

}  // namespace hybridkv
