#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "simulator/radix_replay.h"

namespace hybridkv {

/// What a replay through a dual pool with a radix tree found out. Tokens are those of one rank's pool.
struct RadixStats {
  std::string name;                        ///< of the cache, as reports call it
  RadixSettings settings;
  std::optional<std::int64_t> max_model_len;///< longer prompts are refused; unset: no limit
  std::int64_t requests = 0;               ///< of the trace, however they ended
  std::int64_t refused = 0;                ///< RequestStatus::refused
  std::int64_t too_long = 0;               ///< RequestStatus::too_long
  std::int64_t stalled = 0;                ///< RequestStatus::stalled
  std::int64_t taken_prompt_tokens = 0;    ///< of all requests but those that were too long, however they ended
  std::int64_t prompt_tokens = 0;          ///< of the requests that ended ok, as hits and chunks
  std::int64_t hit_tokens = 0;             ///< with KV and state
  std::int64_t requests_with_hit = 0;
  std::int64_t kv_match_tokens = 0;        ///< that KV alone matched, the hits among them
  std::int64_t requests_with_branch = 0;   ///< that took a state where KV alone matched
  std::int64_t prefill_chunks = 0;
  std::int64_t generated_tokens = 0;
  std::int64_t states_made = 0;            ///< that the tree kept; this and what follows of all that were taken in
  std::int64_t states_used = 0;            ///< of those, hit at least once
  std::int64_t states_trimmed = 0;         ///< of those, dropped by the limit of a path
  std::int64_t evicted_tokens = 0;
  std::int64_t evicted_states = 0;
  std::int64_t evicted_unused_states = 0;  ///< of those, never hit before
  std::int64_t most_tree_tokens = 0;       ///< in the tree after any request
  std::int64_t most_tree_states = 0;
  std::int64_t free_tokens = 0;            ///< after the last request
  std::int64_t free_states = 0;

  void add(const RadixRecord& record);
  /// Requests that ended ok.
  std::int64_t ended() const { return requests - refused - too_long - stalled; }
  /// Share of the prompts that the engine takes, 0 .. 1; of one that does not fit the pools nothing is found.
  double rate(std::int64_t tokens) const {
    return taken_prompt_tokens == 0 ? 0 : static_cast<double>(tokens) / static_cast<double>(taken_prompt_tokens);
  }
  /// The share that is found.
  double hit_rate() const { return rate(hit_tokens); }
  /// The same by KV alone.
  double kv_match_rate() const { return rate(kv_match_tokens); }
  bool operator==(const RadixStats&) const = default;
};

}  // namespace hybridkv
