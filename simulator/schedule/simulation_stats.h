#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "simulator/blocks/cache_geometry.h"
#include "simulator/blocks/modelled_rule.h"
#include "simulator/pool/block_arena.h"
#include "simulator/replay_counts.h"
#include "clock/served_times.h"

namespace hybridkv {

/// The cache at the end of one step, before finished requests give back their blocks.
struct SeriesPoint {
  std::int64_t step = 0;
  double seconds = 0;                  ///< simulated time
  std::int64_t ended_requests = 0;
  std::int64_t running_requests = 0;
  std::int64_t waiting_requests = 0;
  std::int64_t held_blocks = 0;        ///< by running requests
  std::int64_t held_state_blocks = 0;  ///< of those, recurrent states
  std::int64_t findable_blocks = 0;    ///< carry a prefix, held or not
  std::int64_t findable_state_blocks = 0;
  std::int64_t prompt_tokens = 0;      ///< of the requests ended so far, but those that were too long
  std::int64_t hit_tokens = 0;         ///< of the requests ended so far
  std::int64_t evictions = 0;          ///< so far
  bool operator==(const SeriesPoint&) const = default;
};

/// At most `capacity` points at even distances: when it is full, every second one is dropped and the distance doubles.
class TimeSeries {
 public:
  explicit TimeSeries(std::size_t capacity = 1024) : capacity_(capacity) {}
  /// Is a point of this step wanted?
  bool wants(std::int64_t step) const { return step % stride_ == 0; }
  void add(const SeriesPoint& point);
  const std::vector<SeriesPoint>& points() const { return points_; }
  bool operator==(const TimeSeries&) const = default;

 private:
  std::size_t capacity_;
  std::int64_t stride_ = 1;
  std::vector<SeriesPoint> points_;
};

/// Hits of the requests of one conversation turn.
struct TurnStats {
  std::int64_t requests = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t hit_tokens = 0;
  bool operator==(const TurnStats&) const = default;
};

/// Requests that are exact copies of an earlier prompt, and what the closed form says that they hit; all 0 unless they
/// are counted (Simulation::count_copies).
struct CopyStats {
  std::int64_t requests = 0;          ///< copies for which the closed form applies
  std::int64_t prompt_tokens = 0;
  std::int64_t predicted_tokens = 0;  ///< in a cache that loses nothing in between
  std::int64_t simulated_tokens = 0;
  bool operator==(const CopyStats&) const = default;
};

/// What one arena of a cache held.
struct ArenaStats {
  std::int64_t max_held_blocks = 0;  ///< by running requests, at the end of any step
  BlockCounts pool;
  bool operator==(const ArenaStats&) const = default;
};

/// Everything one simulation found out. Blocks are counted over all arenas.
struct SimulationStats : ReplayCounts {
  CacheGeometry geometry;
  std::optional<HostStats> host;           ///< where the host has memory for blocks
  std::vector<ModelledRule> modelled;      ///< rules in play that no replay of a real engine covers; empty: replayed
  std::int64_t cut_outputs = 0;            ///< would have generated beyond max_model_len, where the engine ends them
  std::int64_t longest_prompt_tokens = 0;  ///< of the requests that ended ok
  std::int64_t generated_tokens = 0;
  std::int64_t prefill_chunks = 0;         ///< of first prefills
  std::int64_t preemptions = 0;
  std::int64_t preempted_requests = 0;     ///< preempted at least once
  std::int64_t reprefilled_tokens = 0;     ///< computed again after preemptions
  std::int64_t steps = 0;
  double seconds = 0;                      ///< simulated time by the cost model
  std::int64_t copied_states = 0;          ///< per recurrent group
  std::int64_t copied_attention_blocks = 0;
  std::int64_t max_running = 0;
  std::int64_t max_held_blocks = 0;
  std::int64_t max_held_state_blocks = 0;
  BlockCounts pool;
  std::vector<ArenaStats> arenas;          ///< (arena)
  DurationHistogram first_token;           ///< arrival to first token, of the requests that ended ok
  DurationHistogram queueing;              ///< arrival to first admission, of the requests that ended ok
  std::vector<TurnStats> turns;            ///< (turn), 0 = unknown, the last one also counts all later turns
  CopyStats copies;
  std::optional<ServedTimes> times;        ///< with a clock
  TimeSeries series;

  /// Tokens that attention alone matched behind the hits, which are those at the first admission.
  std::int64_t uncached_common_tokens() const { return kv_match_tokens - hit_tokens; }
  bool operator==(const SimulationStats&) const = default;
};

}  // namespace hybridkv
