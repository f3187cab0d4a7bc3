#include "simulator/snapshots/snapshot_stats.h"

#include <algorithm>

namespace hybridkv {

void SnapshotStats::add(const SnapshotRecord& record) {
  ++requests;
  refused += record.status == RequestStatus::refused ? 1 : 0;
  too_long += record.status == RequestStatus::too_long ? 1 : 0;
  stalled += record.status == RequestStatus::stalled ? 1 : 0;
  if (record.status == RequestStatus::too_long) return;
  taken_prompt_tokens += record.input_length;
  checkpoints_made += record.states_made;
  checkpoints_used += record.states_used;
  checkpoints_evicted += record.evicted_states;
  evicted_blocks += record.evicted_blocks;
  loaded_blocks += record.loaded_blocks;
  loaded_states += record.loaded_states;
  most_tree_tokens = std::max(most_tree_tokens, record.tree_tokens);
  most_tree_states = std::max(most_tree_states, record.tree_states);
  free_blocks = record.free_blocks;
  free_states = record.free_states;
  if (record.status != RequestStatus::ok) return;
  prompt_tokens += record.input_length;
  hit_tokens += record.hit_tokens;
  requests_with_hit += record.hit_tokens > 0 ? 1 : 0;
  kv_match_tokens += record.attention_tokens;
  requests_with_branch += record.branch_tokens > 0 ? 1 : 0;
  prefill_chunks += record.num_chunks;
  generated_tokens += record.generated;
  snapshots += record.num_snapshots;
}

}  // namespace hybridkv
