#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace hybridkv {

/// Where a workload's states are best kept, and what the settings that an engine takes today find of it.
struct CheckpointAnswer {
  /// The best places for so many states of every prompt, as tokens from its start.
  struct Places {
    std::int64_t states = 0;
    std::vector<std::int64_t> tokens;
    double recomputed_tokens = 0;  ///< of what prompts share with earlier ones
    bool operator==(const Places&) const = default;
  };
  /// One setting, replayed in the memory there is.
  struct Setting {
    std::optional<std::int64_t> retention_tokens;  ///< unset: every state
    std::int64_t back = 0;                         ///< checkpoints that the last state lies before its boundary
    std::string refused;                           ///< by the engine, one line; empty: replayed
    std::int64_t found_tokens = 0;
    std::int64_t states_made = 0;
    bool operator==(const Setting&) const = default;
  };

  std::string name;              ///< of the layout
  std::string trace;
  std::int64_t unit_tokens = 0;  ///< C: states are made at its multiples
  std::int64_t requests = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t sharing_requests = 0;  ///< that begin like an earlier prompt, for a unit at least
  std::int64_t shared_tokens = 0;     ///< of those, in whole units
  std::vector<Places> places;
  /// (checkpoints back) found in endless memory where every prompt keeps one state so far before its last boundary.
  std::vector<std::int64_t> found_back;
  std::vector<Setting> settings;

  /// Can a state be kept by that interval beside those that 0 keeps? Only at multiples of both.
  bool has_effect(std::int64_t retention_tokens) const { return retention_tokens % unit_tokens == 0; }
};

/// Advice for the first layout of a scenario. `retentions`: intervals to replay, 0 and unset among them as they are
/// wanted; empty: every state, the last, and every 4 and 16 units.
/// Throws InputError where no state is found again, for engines whose states are not in blocks, for several packs or
/// lengths that were typed, and as the trace does.
CheckpointAnswer advise_checkpoints(const Scenario& scenario,
                                    const std::vector<std::optional<std::int64_t>>& retentions);

}  // namespace hybridkv
