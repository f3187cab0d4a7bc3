#include "planner/own_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"

namespace hybridkv {

namespace {

/// A key that only some engines have.
struct OwnKey {
  std::string_view key;
  bool (*is_set)(const EngineSpec& engine);
};

template <auto member>
constexpr OwnKey own(std::string_view key) {
  return {key, [](const EngineSpec& engine) { return (engine.*member).has_value(); }};
}

constexpr OwnKey own_keys[] = {
    own<&EngineSpec::mamba_radix_cache_strategy>("engine.mamba_radix_cache_strategy"),
    own<&EngineSpec::overlap_schedule>("engine.overlap_schedule"),
    own<&EngineSpec::skip_decode_lock>("engine.skip_decode_lock"),
    own<&EngineSpec::page_size>("engine.page_size"),
    own<&EngineSpec::mamba_track_interval>("engine.mamba_track_interval"),
    own<&EngineSpec::max_mamba_cache_size>("engine.max_mamba_cache_size"),
    own<&EngineSpec::max_running_requests>("engine.max_running_requests"),
    own<&EngineSpec::max_total_tokens>("engine.max_total_tokens"),
    own<&EngineSpec::attention_data_parallel>("engine.attention_data_parallel"),
    own<&EngineSpec::unified_memory>("engine.unified_memory"),
    own<&EngineSpec::linear_replayssm_spec>("engine.linear_replayssm_spec"),
    own<&EngineSpec::mamba_state_cache_interval>("engine.mamba_state_cache_interval"),
    own<&EngineSpec::avg_seq_len>("engine.avg_seq_len"),
    own<&EngineSpec::ctx_checkpoints>("engine.ctx_checkpoints"),
    own<&EngineSpec::checkpoint_min_step>("engine.checkpoint_min_step"),
};

bool takes(const EngineRules& rules, std::string_view key) {
  return std::find(rules.own_keys.begin(), rules.own_keys.end(), key) != rules.own_keys.end();
}

}  // namespace

void refuse_keys_of_others(const EngineSpec& engine) {
  const EngineRules& rules = *engine.rules;
  const auto all = all_engine_rules();
  for (const OwnKey& own : own_keys) {
    if (!own.is_set(engine) || takes(rules, own.key)) continue;
    const auto other =
        std::find_if(all.begin(), all.end(), [&](const EngineRules* one) { return takes(*one, own.key); });
    throw SpecError(std::string(own.key), fmt::format("{} has no such setting; set engine.release to {}, or leave it "
                                                      "out", rules.title, (*other)->name));
  }
  for (const EngineRules* const other : all)
    if (other != &rules && keeps_tensors_apart(other->strategy) && engine.strategy == other->strategy)
      throw SpecError("engine.strategy", fmt::format("{} is that of {} alone; set engine.release to {}, or take "
                                                     "another strategy", to_string(engine.strategy), other->title,
                                                     other->name));
}

}  // namespace hybridkv
