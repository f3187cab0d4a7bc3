#pragma once

#include <cstdint>

#include "simulator/replay_counts.h"
#include "simulator/tree/tree_replay.h"

namespace hybridkv {

/// What a replay through a dual pool with a radix tree found out. Tokens are those of one rank's pool. Checkpoints are
/// states that the tree kept; those and what is evicted are counted of all requests that were taken in.
struct TreeStats : ReplayCounts {
  TreeSettings settings;
  std::int64_t in_flight = 1;              ///< requests that wait or run at once
  std::int64_t steps = 0;                  ///< where several are in flight
  std::int64_t most_running = 0;           ///< in a step, the same
  std::int64_t retractions = 0;            ///< requests that gave all back and waited again, as often as they did
  std::int64_t recomputed_tokens = 0;      ///< prefilled again after those
  std::int64_t requests_with_branch = 0;   ///< that took a state where KV alone matched
  std::int64_t prefill_chunks = 0;
  std::int64_t generated_tokens = 0;
  std::int64_t states_trimmed = 0;         ///< of the states kept, dropped by the limit of a path
  std::int64_t evicted_tokens = 0;
  std::int64_t evicted_unused_states = 0;  ///< of the states evicted, never hit before
  std::int64_t loaded_tokens = 0;          ///< from the host tier
  std::int64_t loaded_states = 0;
  std::int64_t most_tree_tokens = 0;       ///< in the tree after any request
  std::int64_t most_tree_states = 0;
  std::int64_t free_tokens = 0;            ///< after the last request
  std::int64_t free_states = 0;

  void add(const TreeRecord& record);
  bool operator==(const TreeStats&) const = default;
};

}  // namespace hybridkv
