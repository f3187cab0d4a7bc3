#include "simulator/tree/tree_stats.h"

#include <algorithm>

namespace hybridkv {

void TreeStats::add(const TreeRecord& record) {
  ++requests;
  refused += record.status == RequestStatus::refused ? 1 : 0;
  too_long += record.status == RequestStatus::too_long ? 1 : 0;
  stalled += record.status == RequestStatus::stalled ? 1 : 0;
  checkpoints_made += record.states_made;
  checkpoints_used += record.states_used;
  states_trimmed += record.states_trimmed;
  evicted_tokens += record.evicted_tokens;
  checkpoints_evicted += record.evicted_states;
  retractions += record.retractions;
  recomputed_tokens += record.recomputed_tokens;
  loaded_tokens += record.loaded_tokens;
  loaded_states += record.loaded_states;
  evicted_unused_states += record.evicted_unused_states;
  if (record.status == RequestStatus::too_long) return;
  taken_prompt_tokens += record.input_length;
  most_tree_tokens = std::max(most_tree_tokens, record.tree_tokens);
  most_tree_states = std::max(most_tree_states, record.tree_states);
  free_tokens = record.free_tokens;
  free_states = record.free_states;
  if (record.status != RequestStatus::ok) return;
  prompt_tokens += record.input_length;
  hit_tokens += record.hit_tokens;
  requests_with_hit += record.hit_tokens > 0 ? 1 : 0;
  kv_match_tokens += record.kv_match_tokens;
  requests_with_branch += record.branch_tokens > 0 ? 1 : 0;
  prefill_chunks += static_cast<std::int64_t>(record.chunks.size());
  generated_tokens += record.generated;
}

}  // namespace hybridkv
