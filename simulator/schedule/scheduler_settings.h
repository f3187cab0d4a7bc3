#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "simulator/pool/eviction_policy.h"
#include "simulator/pool/own_policy.h"

namespace hybridkv {

/// What only the scheduler knows of a cache and no layout changes: the same for every cache that is compared.
struct SchedulerSettings {
  bool branch_point = true;                   ///< end the first chunk where attention alone matched
  std::int64_t max_num_seqs = 256;            ///< most running requests, >= 1
  std::optional<std::int64_t> max_num_active_seqs;  ///< of those, how many are admitted; default: all
  double watermark = 0;                       ///< share of an arena kept free at admission beside others, [0, 1)
  std::int64_t long_prefill_threshold = 0;    ///< most tokens of one request in a step; 0 = no limit
  bool long_prefill_threshold_adaptive = false;  ///< but no fewer than its share of a step among all requests
  /// The chance that a drafter's next token is right where those before it are, [0, 1]; 0: no draft ever comes true.
  double acceptance = 0;
  std::optional<std::int64_t> max_model_len;  ///< longest sequence, prompt and output; unset: no limit
  EvictionPolicy eviction = EvictionPolicy::lru;
  std::shared_ptr<const OwnPolicy> own_policy;  ///< in place of `eviction`, which is lru then; null: none
  /// A prompt's last state is kept so many checkpoints before its last boundary, which a longer prompt may not share.
  std::int64_t checkpoint_back = 0;
  bool operator==(const SchedulerSettings&) const = default;

  /// Does the block go that nobody used for longest, as in engines?
  bool evicts_as_engines() const { return eviction == EvictionPolicy::lru && !own_policy; }
  std::string eviction_name() const { return own_policy ? own_policy->name : std::string(to_string(eviction)); }
  std::int64_t most_running() const { return max_num_active_seqs.value_or(max_num_seqs); }

  /// The same with another longest sequence, where none is set.
  SchedulerSettings with_longest(const std::optional<std::int64_t>& longest) const {
    SchedulerSettings settings = *this;
    if (!settings.max_model_len) settings.max_model_len = longest;
    return settings;
  }
};

}  // namespace hybridkv
