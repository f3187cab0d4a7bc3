#include "simulator/slots/slot_stats.h"

namespace hybridkv {

void SlotStats::add(const SlotRecord& record) {
  ++requests;
  too_long += record.status == RequestStatus::too_long ? 1 : 0;
  refused += record.status == RequestStatus::refused ? 1 : 0;
  if (record.status == RequestStatus::too_long) return;
  taken_prompt_tokens += record.input_length;
  prompts_saved += record.prompts_saved;
  prompts_loaded += record.loaded_tokens > 0 ? 1 : 0;
  checkpoints_evicted += record.checkpoints_dropped;
  if (record.status != RequestStatus::ok) return;
  prompt_tokens += record.input_length;
  hit_tokens += record.hit_tokens;
  requests_with_hit += record.hit_tokens > 0 ? 1 : 0;
  kv_match_tokens += record.common_tokens;
  checkpoints_made += record.checkpoints_made;
  checkpoints_used += record.checkpoints_used;
  stale_restores += record.restored_stale ? 1 : 0;
}

}  // namespace hybridkv
