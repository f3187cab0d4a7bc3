#pragma once

#include <cstdint>

#include "planner/snapshot_points.h"

namespace hybridkv {

/// The tier on the host behind both groups, with pools of its own. What the replay does with it was run; how large its
/// pools are was read.
struct GroupHost {
  std::int64_t bytes = 0;           ///< that are shared between them, whole pages of memory; 0: no tier
  std::int64_t borrowed_bytes = 0;  ///< of these beyond what was asked for
  std::int64_t blocks = 0;
  std::int64_t states = 0;
  bool exists() const { return bytes > 0; }
  bool operator==(const GroupHost&) const = default;
};

/// The two pool groups of strategy pool_groups: by what memory was shared between them, and what a replay through them
/// depends on.
struct PoolGroups {
  bool first_manager = false;             ///< sized by the first manager of the engine, else by the second
  std::int64_t grain_bytes = 0;           ///< pools are a whole number of them
  std::int64_t grains = 0;                ///< of the memory, the last one whole too; 0: ids are not by grains
  std::int64_t borrowed_bytes = 0;        ///< that the pools may take beyond the memory: the rest of the last grain
  std::int64_t typical_tokens = 0;        ///< length of the requests that the shares are made for
  std::int64_t typical_blocks = 0;        ///< blocks of such a request
  std::int64_t typical_states = 0;        ///< states of such a request, the running one among them
  std::int64_t max_requests = 0;          ///< B, at once
  std::int64_t dummy_requests = 0;        ///< D, that pad graphs
  std::int64_t least_bytes = 0;           ///< with which it starts
  std::int64_t estimate_bytes = 0;        ///< that the engine reckons with before any token
  std::int64_t estimate_token_bytes = 0;  ///< and for each
  SnapshotPoints points;                  ///< where states are kept for prefixes
  bool partial_reuse = true;              ///< parts of blocks are found again
  bool evicts_alone = true;               ///< a state goes without the K and V of its leaf
  GroupHost host;                         ///< of one rank
  bool operator==(const PoolGroups&) const = default;
};

}  // namespace hybridkv
