#include "simulator/snapshots/snapshot_record.h"

#include <fmt/format.h>

namespace hybridkv {

std::string snapshot_csv_row(const SnapshotRecord& record) {
  const bool fits = record.status == RequestStatus::ok;
  const std::string branch = record.branch_tokens > 0 ? fmt::to_string(record.branch_tokens) : std::string();
  const std::string last = record.num_snapshots > 0 ? fmt::to_string(record.last_snapshot) : std::string();
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", record.index, record.input_length,
                     fits ? record.hit_tokens : std::int64_t(-1), record.attention_tokens, record.content_tokens,
                     branch, record.num_chunks, record.num_snapshots, last, record.evicted_blocks,
                     record.evicted_states, record.free_blocks, record.free_states, record.tree_blocks,
                     record.tree_tokens, record.tree_states, to_string(record.status));
}

}  // namespace hybridkv
