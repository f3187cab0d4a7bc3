#pragma once

#include "planner/read_pools.h"
#include "report/json_archive.h"

namespace hybridkv {

template <class Archive, Is<PoolGroups> T>
void fields(Archive& archive, T& groups) {
  archive("grain_bytes", groups.grain_bytes);
  archive("typical_tokens", groups.typical_tokens);
  archive("typical_blocks", groups.typical_blocks);
  archive("typical_snapshots", groups.typical_snapshots);
  archive("interval_tokens", groups.interval_tokens);
  archive("max_requests", groups.max_requests);
}

template <class Archive, Is<SequenceRows> T>
void fields(Archive& archive, T& rows) {
  archive("sequences", rows.sequences);
  archive("rows_per_sequence", rows.rows_per_sequence);
  archive("checkpoints", rows.checkpoints);
  archive("checkpoint_step_tokens", rows.checkpoint_step_tokens);
  archive("checkpoint_bytes", rows.checkpoint_bytes);
  archive.derived("host_bytes", [&rows] { return rows.host_bytes(); });
}

}  // namespace hybridkv
