#pragma once

#include "planner/tensor_pools.h"
#include "report/json_archive.h"

namespace hybridkv {

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
