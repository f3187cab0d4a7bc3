#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "simulator/cache_replay.h"
#include "simulator/trace/trace_spec.h"

namespace hybridkv {

/// How much the prompts of a trace repeat, for who says why a replay hit nothing. The trace is read again for the first
/// cache that asks, and once more for each other max_model_len.
class LongestRepeats {
 public:
  /// The trace must outlive this.
  explicit LongestRepeats(const TraceSpec& trace) : trace_(trace) {}

  /// The most tokens that a prompt shares with an earlier one, prompts of max_model_len or more left out; unset where
  /// the cache hits, keeps no prefixes, served nothing, or has no blocks: then nothing is read.
  std::optional<std::int64_t> of(const IndexStats& stats, std::optional<std::int64_t> max_model_len);

 private:
  const TraceSpec& trace_;
  std::map<std::optional<std::int64_t>, std::int64_t> longest_;  // by max_model_len
};

}  // namespace hybridkv
