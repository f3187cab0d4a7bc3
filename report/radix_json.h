#pragma once

#include "planner/arrangement.h"
#include "report/json_archive.h"

namespace hybridkv {

template <>
inline constexpr auto enum_values<RadixStrategy> = values_of(radix_strategy_names);
template <>
inline constexpr auto enum_values<SlotCount> = values_of(slot_count_names);

template <class Archive, Is<TokenStateSplit> T>
void fields(Archive& archive, T& split) {
  archive("by", split.by);
  archive("slots_per_request", split.slots_per_request);
  archive("state_slots", split.state_slots);
  archive("token_slots", split.token_slots);
  archive("max_running", split.max_running);
  archive.unless_default("draft_requests", split.draft_requests);
  archive.unless_default("draft_state_bytes", split.draft_state_bytes);
  archive.unless_default("ring_bytes", split.ring_bytes);
  archive("token_memory_bytes", split.token_memory_bytes);
}

template <class Archive, Is<UnifiedPool> T>
void fields(Archive& archive, T& pool) {
  archive("token_part_bytes", pool.token_part_bytes);
  archive("total_bytes", pool.total_bytes);
  archive("state_in_tokens", pool.state_in_tokens);
  archive("largest_tokens", pool.largest_tokens);
  archive("largest_states", pool.largest_states);
}

template <class Archive, Is<LengthAdvice> T>
void fields(Archive& archive, T& advice) {
  archive("tokens", advice.tokens);
  archive("balanced_ratio", advice.balanced_ratio);
  archive("best_ratio", advice.best_ratio);
  archive("best_state_slots", advice.best_state_slots);
  archive("best_token_slots", advice.best_token_slots);
  archive("running_now", advice.running_now);
  archive("running_best", advice.running_best);
  archive("idle_percent", advice.idle_percent);
}

template <class Archive, Is<RadixPools> T>
void fields(Archive& archive, T& pools) {
  archive("strategy", pools.strategy);
  archive("page_tokens", pools.page_tokens);
  archive("slot_bytes", pools.slot_bytes);
  archive("token_bytes", pools.token_bytes);
  archive("checkpoint_tokens", pools.checkpoint_tokens);
  archive("decode_tokens", pools.decode_tokens);
  archive("split", pools.split);
  archive.unless_default("unified", pools.unified);
  archive("advice", pools.advice);
}

}  // namespace hybridkv
