#pragma once

#include <cstdint>

#include "simulator/replay_counts.h"
#include "simulator/snapshots/snapshot_record.h"
#include "simulator/snapshots/snapshot_settings.h"

namespace hybridkv {

/// What a replay through two pools under a tree with snapshots found out. Checkpoints are states that the tree kept.
struct SnapshotStats : ReplayCounts {
  SnapshotSettings settings;
  std::int64_t requests_with_branch = 0;  ///< that left the tree where a state was wanted
  std::int64_t prefill_chunks = 0;
  std::int64_t generated_tokens = 0;
  std::int64_t snapshots = 0;             ///< points at which prompts were committed
  std::int64_t evicted_blocks = 0;        ///< chosen by their age; what left with them is not counted
  std::int64_t loaded_blocks = 0;         ///< brought back from the host
  std::int64_t loaded_states = 0;
  std::int64_t most_tree_tokens = 0;      ///< in the tree after any request
  std::int64_t most_tree_states = 0;
  std::int64_t free_blocks = 0;           ///< after the last request
  std::int64_t free_states = 0;

  void add(const SnapshotRecord& record);
  bool operator==(const SnapshotStats&) const = default;
};

}  // namespace hybridkv
