#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ask/bound_order.h"
#include "ask/compare_settings.h"
#include "simulator/sweep.h"

namespace hybridkv {

/// What a trace finds in the cache of one setting, whatever its engine's index is. Tokens that are found or computed
/// are those of requests that ended ok. Every share, of bounds too, is of the prompts that the engine takes: all but
/// those that it refuses for their length.
struct ReplayedSetting {
  std::int64_t requests = 0;           ///< that ended ok
  std::int64_t taken_prompt_tokens = 0;  ///< of all prompts that the engine takes, however they ended
  std::int64_t prompt_tokens = 0;
  std::int64_t hit_tokens = 0;
  std::int64_t requests_with_hit = 0;
  std::int64_t kv_match_tokens = 0;    ///< that attention alone matched, the hits among them
  std::int64_t checkpoints_made = 0;   ///< states kept to be found
  std::int64_t checkpoints_used = 0;   ///< of those, hit at least once
  std::int64_t checkpoints_evicted = 0;
  std::int64_t refused = 0;            ///< however: too long, or larger than the pool
  std::int64_t unserved = 0;           ///< of those, larger than the pool
  std::int64_t token_exact_hit_tokens = 0;  ///< by any prefix in endless memory: no layout can find more

  /// Share of the prompts that the engine takes; 0 without any.
  double rate(std::int64_t tokens) const {
    return taken_prompt_tokens > 0 ? static_cast<double>(tokens) / static_cast<double>(taken_prompt_tokens) : 0;
  }
  /// What stands beside bounds.
  ReplayedFigures figures() const { return {taken_prompt_tokens, hit_tokens, token_exact_hit_tokens}; }
  /// Computed though nothing was new to a cache that finds any prefix.
  std::int64_t prefilled_tokens() const { return prompt_tokens - hit_tokens; }
};

/// What a cache of blocks found. `token_exact_hit_tokens`: of the same prompts, where somebody asked.
ReplayedSetting figures_of(const SimulationStats& stats, std::int64_t token_exact_hit_tokens = 0);

/// Is the cache of this release one of blocks, of which the simulator replays many at a time? Else it has an index of
/// its own.
bool has_block_index(const EngineRules& rules);

/// Replays the trace of a scenario, section simulate, through the cache that it plans at its longest length.
/// Throws SpecError and InputError as `simulate` does.
ReplayedSetting replay_setting(const Scenario& scenario,
                               const std::function<void(const SweepProgress&)>& on_progress = {});

/// Replays the trace of each setting, section simulate, through the cache that it plans; nothing where `planned` is
/// false, and for strategies without replays. Throws InputError as `simulate` does.
std::vector<std::optional<ReplayedSetting>> replay_settings(
    const std::vector<CompareSetting>& settings, const std::vector<bool>& planned,
    const std::function<void(const SweepProgress&)>& on_progress = {});

}  // namespace hybridkv
