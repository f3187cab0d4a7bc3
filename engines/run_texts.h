#pragma once

#include <array>
#include <span>
#include <string_view>

#include "base/named_values.h"

namespace hybridkv {

/// What an engine says of its cache while it serves. Shares are in percent.
enum class RunKey {
  running,          ///< requests
  waiting,          ///< requests
  preemptions,      ///< requests that were put back, all together
  kv_usage,         ///< of the memory of the cache, or of its tokens, that running requests hold
  state_usage,      ///< the same of states, where they have memory of their own
  hit_rate,         ///< of prompt tokens, found in the memory of the engine; over which requests is up to the engine
  external_hits,    ///< of prompt tokens, brought by a connector
  prompt_rate,      ///< prompt tokens computed a second
  generation_rate,  ///< tokens generated a second
  hit_tokens,       ///< prompt tokens found since the start
  queried_tokens,   ///< prompt tokens looked up since the start
};

/// In the order of the enumeration, as JSON calls them.
inline constexpr auto run_key_names = std::to_array<Named<RunKey>>(
    {{RunKey::running, "running"},
     {RunKey::waiting, "waiting"},
     {RunKey::preemptions, "preemptions"},
     {RunKey::kv_usage, "kv_usage_percent"},
     {RunKey::state_usage, "state_usage_percent"},
     {RunKey::hit_rate, "hit_rate_percent"},
     {RunKey::external_hits, "external_hit_rate_percent"},
     {RunKey::prompt_rate, "prompt_tokens_per_s"},
     {RunKey::generation_rate, "generation_tokens_per_s"},
     {RunKey::hit_tokens, "hit_tokens"},
     {RunKey::queried_tokens, "queried_tokens"}});
inline constexpr auto all_run_keys = values_of(run_key_names);

constexpr std::string_view to_string(RunKey key) { return name_in(run_key_names, key); }

/// What is made of values of one kind: of the lines of a log, or of the engines on a page.
enum class RunJoin {
  last,     ///< each replaces the one before it; of engines the largest counts
  count,    ///< the same, but those of engines are added
  addends,  ///< each is what came since the line before it: they are added
};

/// A number behind a text.
struct RunPattern {
  RunKey key;
  std::string_view before;  ///< of a line; on a page the whole name
  double factor = 1;        ///< 100 where shares are printed as parts of 1
  RunJoin join = RunJoin::last;
};

/// What an engine prints as it serves: lines of its log, and a page in the form of Prometheus.
struct RunTexts {
  std::span<const std::string_view> lines;     ///< texts of which such a line has one
  std::string_view several;                    ///< in lines that stand for several engines; empty: there are none
  std::span<const RunPattern> values;
  std::span<const RunPattern> metrics;
  std::string_view prompt_lengths;             ///< name of a histogram of prompt tokens, by finished request
  std::string_view hits_over;                  ///< which prompts a printed hit rate is over, in words
};

}  // namespace hybridkv
