#pragma once

#include "planner/cache_plan.h"
#include "report/json_archive.h"

namespace hybridkv {

template <class Archive, Is<IdsByCause> T>
void fields(Archive& archive, T& ids) {
  archive.named("ids_by_cause", "What the block ids of one request are for; their sum is blocks_per_request.");
  archive("tokens", ids.tokens, "K and V of its tokens.");
  archive("states", ids.states, "Running states and checkpoints at boundaries.");
  archive("speculative", ids.speculative, "States after draft tokens.");
  archive("checkpoints", ids.checkpoints, "States exported inside a chunk.");
  archive("in_flight_window", ids.in_flight_window, "Tokens of steps in flight, which layers with a window keep.");
  archive("other", ids.other, "What the model asks for beside them: a ring.");
  archive.unless_default("encoder", ids.encoder, "K and V of the tokens of its encoder; left out where it has none.");
}

template <class Archive, Is<CapacityPlan> T>
void fields(Archive& archive, T& capacity) {
  archive.named("capacity", "What fits at one length.");
  archive("max_model_len", capacity.max_model_len, {"Tokens of one request.", 1});
  archive("blocks_per_request", capacity.blocks_per_request, "Block ids it takes, all groups together.");
  archive("bytes_per_request", capacity.bytes_per_request, "Those blocks in all pools, extras included.");
  archive("ideal_bytes_per_request", capacity.ideal_bytes_per_request,
          "Without paging: K and V of its tokens and one state a layer.");
  archive("max_concurrency", capacity.max_concurrency,
          "num_blocks / blocks_per_request, as engines print it: the null block counts.");
  archive("kv_cache_tokens", capacity.kv_cache_tokens, "By the engine's token rule.");
  archive("fits", capacity.fits,
          "num_blocks >= blocks_per_request, as engines check; some do without the null block.");
  archive("usable_concurrency", capacity.usable_concurrency, "The same without the null block.");
  archive("ids_by_cause", capacity.ids_by_cause);
  archive("kv_cache_tokens_by_concurrency", capacity.kv_cache_tokens_by_concurrency,
          "int(max_concurrency * max_model_len).");
  archive("kv_cache_tokens_by_floor", capacity.kv_cache_tokens_by_floor,
          "num_blocks // groups * smallest block of a group.");
}

template <class Archive, Is<PrefixPlan> T>
void fields(Archive& archive, T& prefix) {
  archive.named("prefix", "How finely a prefix can be found again.");
  archive("match_unit_tokens", prefix.match_unit_tokens,
          "Hits are multiples of it: lcm of the groups' blocks, in mode none of attention's, 0 without any.");
  archive("min_cacheable_prefix_tokens", prefix.min_cacheable_prefix_tokens,
          {"Shortest shared prefix that can ever hit; null where none can.", 1});
  archive("cacheable", prefix.cacheable, "False where nothing is ever found again.");
  archive("duplicate_misses_up_to_tokens", prefix.duplicate_misses_up_to_tokens,
          "A second copy of a prompt this long or shorter hits nothing.");
  archive("duplicate_misses_multiples_of_tokens", prefix.duplicate_misses_multiples_of_tokens,
          {"And one whose length is a multiple of this; null: no such lengths.", 1});
  archive.unless_default("scheduler_block_tokens", prefix.scheduler_block_tokens,
                         {"S: lcm of the groups' blocks; left out for releases before chain hashes of h tokens.", 1});
  archive.unless_default("hash_block_tokens", prefix.hash_block_tokens, {"h: tokens of a chain hash; with S.", 1});
  archive.unless_default("match_error", prefix.match_error, "Why the engine refuses the match unit.");
}

template <class Archive, Is<BlockWaste> T>
void fields(Archive& archive, T& waste) {
  archive.named("block_waste", "Bytes lost in each block id of one group, whatever it holds.");
  archive("group", waste.group, "Position in groups.");
  archive("state_padding_bytes", waste.state_padding_bytes,
          "Padding of pages of recurrent layers and gaps inside a state.");
  archive("attention_padding_bytes", waste.attention_padding_bytes, "Padding of pages of attention layers.");
  archive("short_pack_bytes", waste.short_pack_bytes, "Room of the layers that the last pack lacks.");
  archive("empty_slot_bytes", waste.empty_position_bytes, "Pages of pool positions that the group leaves empty.");
  archive.derived("total_bytes", [&waste] { return waste.total(); }, "Sum of the four.");
}

template <class Archive, Is<LoadWaste> T>
void fields(Archive& archive, T& waste) {
  archive.named("load_waste", "Where every byte of the pools goes under a load: pool = used + wasted + free.");
  archive("sequence_tokens", waste.sequence_tokens, "Lengths of the running requests.");
  archive("pool_bytes", waste.pool_bytes, "All pools.");
  archive.derived("used_bytes", [&waste] { return waste.used_bytes(); }, "token + state + extra_state.");
  archive.derived("wasted_bytes", [&waste] { return waste.wasted_bytes(); }, "The kinds of waste of running requests.");
  archive("free_bytes", waste.free_bytes, "Blocks that no request holds.");
  archive("token_bytes", waste.token_bytes, "K and V of live tokens.");
  archive("state_bytes", waste.state_bytes, "The running state of every recurrent layer.");
  archive("extra_state_bytes", waste.extra_state_bytes, "Checkpoints and speculative states beside the running one.");
  archive("state_padding_bytes", waste.state_padding_bytes, "As in per_block.");
  archive("attention_padding_bytes", waste.attention_padding_bytes, "As in per_block.");
  archive("short_pack_bytes", waste.short_pack_bytes, "As in per_block.");
  archive("empty_slot_bytes", waste.empty_position_bytes, "As in per_block.");
  archive("block_tail_bytes", waste.block_tail_bytes, "Slots of attention blocks that hold no live token.");
  archive.unless_default("unused_entry_bytes", waste.unused_entry_bytes,
                         "Small pages of the large ones of a request that it has no use for; default 0.");
  archive("null_block_bytes", waste.null_block_bytes, "Block 0.");
}

template <class Archive, Is<WastePlan> T>
void fields(Archive& archive, T& waste) {
  archive.named("waste", "What is lost, itemised twice.");
  archive("per_block", waste.per_block, "One per group.");
  archive("at_load", waste.at_load);
  archive("unallocated_bytes", waste.unallocated_bytes, "Memory that is no whole block for every pool.");
}

}  // namespace hybridkv
