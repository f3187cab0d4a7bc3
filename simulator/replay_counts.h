#pragma once

#include <cstdint>
#include <initializer_list>

namespace hybridkv {

/// What every index can say of a trace through one cache. Tokens that are found or computed are those of requests that
/// ended ok. Every share, of bounds too, is of the prompts that the engine takes: all but those that it refuses for
/// their length.
struct ReplayCounts {
  std::int64_t requests = 0;             ///< of the trace, however they ended
  std::int64_t refused = 0;              ///< RequestStatus::refused
  std::int64_t too_long = 0;             ///< RequestStatus::too_long
  std::int64_t stalled = 0;              ///< RequestStatus::stalled
  std::int64_t taken_prompt_tokens = 0;  ///< of all prompts that the engine takes, however they ended
  std::int64_t prompt_tokens = 0;
  std::int64_t hit_tokens = 0;
  std::int64_t requests_with_hit = 0;
  std::int64_t kv_match_tokens = 0;      ///< that attention alone matched, the hits among them
  std::int64_t checkpoints_made = 0;     ///< states kept to be found
  std::int64_t checkpoints_used = 0;     ///< of those, hit at least once
  std::int64_t checkpoints_evicted = 0;

  /// Requests that ended ok.
  std::int64_t ended() const { return requests - refused - too_long - stalled; }
  /// Requests larger than the memory.
  std::int64_t unserved() const { return refused + stalled; }
  /// Share of the prompts that the engine takes, 0 .. 1; of one that does not fit the memory nothing is found.
  double rate(std::int64_t tokens) const {
    return taken_prompt_tokens > 0 ? static_cast<double>(tokens) / static_cast<double>(taken_prompt_tokens) : 0;
  }
  /// The share that is found.
  double hit_rate() const { return rate(hit_tokens); }
  /// Those of another cache beside them.
  ReplayCounts& operator+=(const ReplayCounts& other) {
    for (std::int64_t ReplayCounts::* const count :
         {&ReplayCounts::requests, &ReplayCounts::refused, &ReplayCounts::too_long, &ReplayCounts::stalled,
          &ReplayCounts::taken_prompt_tokens, &ReplayCounts::prompt_tokens, &ReplayCounts::hit_tokens,
          &ReplayCounts::requests_with_hit, &ReplayCounts::kv_match_tokens, &ReplayCounts::checkpoints_made,
          &ReplayCounts::checkpoints_used, &ReplayCounts::checkpoints_evicted})
      this->*count += other.*count;
    return *this;
  }
  bool operator==(const ReplayCounts&) const = default;
};

}  // namespace hybridkv
