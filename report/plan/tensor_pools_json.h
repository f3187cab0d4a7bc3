#pragma once

#include "planner/tensor_pools.h"
#include "report/json_archive.h"

namespace hybridkv {

template <class Archive, Is<PoolGroups> T>
void fields(Archive& archive, T& groups) {
  archive.named("pool_groups", "How memory was shared between blocks and states; of strategy pool_groups alone.");
  archive("grain_bytes", groups.grain_bytes, {"Pools are whole grains.", 1});
  archive("typical_tokens", groups.typical_tokens, {"Length of the requests that shares are made for.", 1});
  archive("typical_blocks", groups.typical_blocks, "Of such a request.");
  archive("typical_snapshots", groups.typical_states, {"Of such a request, the running state among them.", 1});
  archive("interval_tokens", groups.interval_tokens, "Between snapshots; 0: there are none.");
  archive("max_requests", groups.max_requests, "As the engine is told; 0: it is not.");
}

template <class Archive, Is<SequenceRows> T>
void fields(Archive& archive, T& rows) {
  archive.named("sequence_rows", "Rows by sequence, and checkpoints on the host; of strategy sequence_rows alone.");
  archive("sequences", rows.sequences, {"At once.", 1});
  archive("rows_per_sequence", rows.rows_per_sequence, {"1 + s.", 1});
  archive("checkpoints", rows.checkpoints, "Of a sequence, at most.");
  archive("checkpoint_step_tokens", rows.checkpoint_step_tokens, "Older ones that lie nearer are dropped.");
  archive("checkpoint_bytes", rows.checkpoint_bytes, "Of one.");
  archive.derived("host_bytes", [&rows] { return rows.host_bytes(); }, "Of all, when they are made.");
}

}  // namespace hybridkv
