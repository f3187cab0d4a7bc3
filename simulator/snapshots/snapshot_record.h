#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "simulator/schedule/request_record.h"

namespace hybridkv {

/// What became of one request in two pools under a tree with snapshots, and what they hold after it.
struct SnapshotRecord {
  std::int64_t index = 0;             ///< in the trace
  std::int64_t input_length = 0;      ///< tokens
  std::int64_t hit_tokens = 0;        ///< up to the state that it went on from
  std::int64_t attention_tokens = 0;  ///< that K and V alone matched
  std::int64_t content_tokens = 0;    ///< that the tree knew
  std::int64_t branch_tokens = 0;     ///< where it left the tree and a state was wanted; 0: nowhere
  std::int64_t num_chunks = 0;
  std::int64_t num_snapshots = 0;     ///< points at which it was committed
  std::int64_t last_snapshot = 0;     ///< the last of them; 0: none
  std::int64_t generated = 0;         ///< tokens
  std::int64_t states_made = 0;       ///< that the tree kept
  std::int64_t states_used = 0;       ///< hit by it that nobody had hit before, 0 or 1
  std::int64_t evicted_blocks = 0;    ///< chosen to make room for it
  std::int64_t evicted_states = 0;
  std::int64_t loaded_blocks = 0;     ///< that it brought back from the host
  std::int64_t loaded_states = 0;
  std::int64_t free_blocks = 0;       ///< afterwards, without those that are idle in the tree
  std::int64_t free_states = 0;
  std::int64_t free_host_blocks = 0;
  std::int64_t free_host_states = 0;
  std::int64_t tree_blocks = 0;
  std::int64_t tree_tokens = 0;
  std::int64_t tree_states = 0;
  RequestStatus status = RequestStatus::ok;
  bool operator==(const SnapshotRecord&) const = default;
};

/// First line of a CSV file of such records, without line end.
inline constexpr std::string_view snapshot_csv_header =
    "idx,input_length,hit_tokens,attention_match,content_match,branch_at,num_chunks,num_snapshots,last_snapshot,"
    "evicted_blocks,evicted_states,free_blocks_after,free_states_after,tree_blocks,tree_tokens,tree_states,status";
/// The line of one request, without line end. One that does not fit hits -1.
std::string snapshot_csv_row(const SnapshotRecord& record);

}  // namespace hybridkv
