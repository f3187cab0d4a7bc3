#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/named_values.h"

namespace hybridkv {

/// Which block of those that can still be found goes when a new one is needed.
///
/// `lru` is what engines do, block by block. All others order whole prefixes, that is the states behind a number of
/// tokens with the K and V that only they need, and share these rules (KeptPrefixes): K and V that no state can resume
/// from go first, so do second copies of a block and a state that its one path has passed; then the prefix that ranks
/// lowest goes with all that is its own, so that no state outlives its K and V. They know what happened, never what
/// comes, and remember the keys of prefixes that went, eight for each block of the cache.
enum class EvictionPolicy : std::uint8_t {
  lru,            ///< the block that nobody used for longest (vLLM, SGLang)
  prefixes,       ///< the prefix that nobody went on from for longest
  cost,           ///< least to compute again for its memory, with ageing (Marconi, MLSys 2025; GreedyDual, 1994)
  frequency,      ///< fewest uses, with ageing (LFU with dynamic ageing, 2000)
  second_chance,  ///< first come, first gone; used ones have another round, never used ones a tenth (S3-FIFO, 2023)
  time_to_live,   ///< last use, put off by how often its kind (turn, length, uses) came back so far, for its memory
  worth,          ///< last use, put off by what it is worth: (tokens saved for its memory times 1 + uses)^2 times turn
};
inline constexpr auto eviction_policy_names = std::to_array<Named<EvictionPolicy>>(
    {{EvictionPolicy::lru, "lru"},
     {EvictionPolicy::prefixes, "prefixes"},
     {EvictionPolicy::cost, "cost"},
     {EvictionPolicy::frequency, "frequency"},
     {EvictionPolicy::second_chance, "second_chance"},
     {EvictionPolicy::time_to_live, "time_to_live"},
     {EvictionPolicy::worth, "worth"}});

constexpr std::string_view to_string(EvictionPolicy value) { return name_in(eviction_policy_names, value); }
constexpr std::optional<EvictionPolicy> parse_eviction_policy(std::string_view name) {
  return value_in(eviction_policy_names, name);
}

}  // namespace hybridkv
