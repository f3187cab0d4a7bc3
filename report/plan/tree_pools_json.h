#pragma once

#include "planner/arrangement.h"
#include "report/json_archive.h"

namespace hybridkv {

template <>
inline constexpr auto enum_values<TreeStrategy> = values_of(tree_strategy_names);
template <>
inline constexpr auto enum_values<StateSlotCount> = values_of(state_slot_count_names);
template <>
inline constexpr auto enum_values<HostCopies> = values_of(host_copies_names);

template <class Archive, Is<TokenStateSplit> T>
void fields(Archive& archive, T& split) {
  archive.named("token_state_split", "The memory of one rank, split between tokens and states.");
  archive("by", split.by, "Where K comes from.");
  archive("slots_per_request", split.state_slots_per_request, "S: slots that a request may hold at once.");
  archive("state_slots", split.state_slots, "K, without the dummy slot.");
  archive("token_slots", split.token_slots, "Whole pages, without the dummy page.");
  archive("max_running", split.max_running, "Requests at once, as the engine prints it.");
  archive.unless_default("draft_requests", split.draft_requests,
                         "Requests with states of draft steps, and one more; default 0.");
  archive.unless_default("draft_state_bytes", split.draft_state_bytes,
                         "States of draft steps, outside the slots; default 0.");
  archive.unless_default("ring_bytes", split.ring_bytes, "Rows of ReplaySSM; default 0.");
  archive("token_memory_bytes", split.token_memory_bytes, "What is left for tokens, before whole tokens and pages.");
}

template <class Archive, Is<UnifiedPool> T>
void fields(Archive& archive, T& pool) {
  archive.named("unified_pool", "An elastic buffer of tokens and states; its rules are read, not run.");
  archive("token_part_bytes", pool.token_part_bytes, "What is left for tokens, in whole 4 KiB.");
  archive("total_bytes", pool.total_bytes, "The same and the state slots.");
  archive("state_in_tokens", pool.state_in_tokens, "Tokens that a state costs at admission.");
  archive("largest_tokens", pool.largest_tokens, "Token slots without any state.");
  archive("largest_states", pool.largest_states, "State slots without any token.");
}

template <class Archive, Is<TreeHost> T>
void fields(Archive& archive, T& host) {
  archive.named("tree_host", "Slots of the host's memory behind both pools; its rules are read, not run.");
  archive("tokens", host.tokens, "Token slots, whole pages.");
  archive("states", host.states, "State slots; 0 without states.");
  archive("copies", host.copies, "When what the tree holds is copied there.");
}

template <class Archive, Is<LengthAdvice> T>
void fields(Archive& archive, T& advice) {
  archive.named("length_advice", "What another split would do for requests of one length.");
  archive("tokens", advice.tokens, "The length.");
  archive("balanced_ratio", advice.balanced_ratio, "Both pools are full together.");
  archive("best_ratio", advice.best_ratio, "Most requests of the length run.");
  archive("best_state_slots", advice.best_state_slots, "K at the best ratio.");
  archive("best_token_slots", advice.best_token_slots, "Token slots at the best ratio.");
  archive("running_now", advice.running_now, "Requests at once as it is split.");
  archive("running_best", advice.running_best, "The same at the best ratio.");
  archive("idle_percent", advice.idle_percent, "Of the memory, as it is split.");
}

template <class Archive, Is<TreePools> T>
void fields(Archive& archive, T& pools) {
  archive.named("radix", "The two pools of an engine with a radix tree; left out for engines with blocks.");
  archive("strategy", pools.strategy, "Which states the tree keeps.");
  archive("page_tokens", pools.page_tokens, "Tokens of a page.");
  archive("slot_bytes", pools.state_slot_bytes, "M: the states of all layers.");
  archive("token_bytes", pools.token_bytes, "K and V of all layers.");
  archive("checkpoint_tokens", pools.checkpoint_tokens, "G: grid of the states of prompts; 1: where a chunk ends.");
  archive("decode_tokens", pools.decode_tokens, "I: the same while decoding.");
  archive("split", pools.split);
  archive.unless_default("unified", pools.unified);
  archive.unless_default("host", pools.host);
  archive("advice", pools.advice, "For the lengths asked about.");
}

}  // namespace hybridkv
