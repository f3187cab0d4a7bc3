#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "ask/replay/simulate.h"
#include "simulator/schedule/simulation_stats.h"

namespace hybridkv {

/// Sentences about replays that several commands say: `simulate`, `recommend`, and the captions of plots.

/// Which of the rules used no replay of a real engine covers; where all are covered, that they are.
std::string modelled_sentence(std::span<const ModelledRule> rules);
/// The same of rules by name, in this order.
std::string modelled_names_sentence(std::span<const std::string> rules);

/// How a cache evicts and where it keeps states, "evicts by worth, last states 1 checkpoint before the last boundary";
/// empty: as engines do.
std::string policy_text(const SchedulerSettings& settings);

/// Of a closed loop, "64 requests in flight", or "64 users who think for 5 s between their requests".
std::string in_flight_text(const DriverSpec& driver);

/// How requests come, "64 requests in flight, prefill and decode".
std::string driver_sentence(const DriverSpec& driver);

/// A replay in a caption: "10,000 made-up requests (seed 1), one at a time".
std::string replay_caption(const std::string& trace, const DriverSpec& driver);

/// The sentence about requests that a cache never serves; `cache`: what they do not fit. They count in the whole of
/// every rate, as in bounds.
std::string unserved_text(std::int64_t requests, const std::string& cache);

/// That requests come faster than they are served, with the numbers: the first half of a sentence.
std::string overload_text(const QueueOverload& overload);

/// What hits token by token mean.
inline constexpr const char* token_exact_text =
    "Token by token: a cache that keeps everything and finds any prefix. No layout can hit more.";

/// What the columns of bound_columns say.
inline constexpr const char* bound_text =
    "Possible: by a schedule that knows the whole trace, in the same memory. No policy more than: proven; "
    "`hybridkv bound` says how.";

/// "3 of 20 requests have prompts of max_model_len (32,768 tokens) or more and are refused, as the engine refuses
/// them". No full stop. Pre: too_long > 0.
std::string too_long_text(std::int64_t too_long, std::int64_t requests, std::int64_t max_model_len);

/// What decides whether a cache can hit at all.
struct HitFacts {
  std::int64_t longest_prompt_tokens = 0;             ///< of the requests served
  std::optional<std::int64_t> longest_repeat_tokens;  ///< most that a prompt shares with an earlier one; unset: unknown
  std::int64_t uncached_common_tokens = 0;            ///< that attention alone matched
  std::int64_t evictions = 0;                         ///< blocks
};

/// Why a cache that served requests hits nothing, as a sentence that begins with `subject`, "the block" or so, and has
/// no full stop: "the block of 2,096 tokens can never hit on this trace: …".
std::string why_no_hits(const std::string& subject, const CacheGeometry& geometry, const HitFacts& facts);

/// The same of a replay, about "the block"; empty where it hit something, or served no token. `longest_repeat`: as in
/// HitFacts.
std::string why_no_hits(const SimulationStats& stats, std::optional<std::int64_t> longest_repeat);

}  // namespace hybridkv
