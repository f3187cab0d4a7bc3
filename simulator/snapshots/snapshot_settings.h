#pragma once

#include <cstdint>

#include "planner/snapshot_points.h"

namespace hybridkv {

/// Two pools, of blocks and of states, under a tree of blocks with snapshots (TensorRT-LLM).
struct SnapshotSettings {
  std::int64_t blocks = 0;              ///< pages of K and V, >= 1
  std::int64_t states = 0;              ///< slots, >= 1
  std::int64_t host_blocks = 0;         ///< pages on the host that these move to when they are evicted; 0: none
  std::int64_t host_states = 0;         ///< the same of slots; both or none
  std::int64_t block_tokens = 32;       ///< >= 1
  std::int64_t chunk_tokens = 8192;     ///< of a prefill chunk, >= 1
  double most_used = 0.95;              ///< share of the blocks above which no request starts (max_util_for_resume)
  SnapshotPoints points;                ///< where states of prompts are kept
  bool partial_reuse = true;            ///< a part of a block is found too
  bool evicts_alone = true;             ///< a state goes without the K and V of its leaf, as since PR 17323
  bool decodes = false;                 ///< requests generate their output, else one token
  bool operator==(const SnapshotSettings&) const = default;

  bool has_host() const { return host_blocks > 0; }

  /// Throws SpecError, path "snapshots.FIELD".
  void check() const;
};

}  // namespace hybridkv
