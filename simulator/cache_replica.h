#pragma once

#include <memory>

#include "simulator/cache_replay.h"
#include "simulator/schedule/replica.h"

namespace hybridkv {

/// A cache of whatever index, as a replica that somebody drives.
class CacheReplica {
 public:
  virtual ~CacheReplica() = default;
  virtual Replica& replica() = 0;
  /// What it found out. To be called once, when nothing is in flight any more.
  virtual ReplayResult result() = 0;
  /// Its pools of blocks; nullptr where it has another index.
  virtual Scheduler* blocks() { return nullptr; }
};

/// A replica of the engine with such a cache. One without pools of blocks is replayed without time, one request after
/// the other; with a clock, requests then go through the engine's steps with what was found of each. Throws as
/// check_replay, ResourceError where it does not fit memory.
std::unique_ptr<CacheReplica> make_replica(const SimulationSpec& spec);

}  // namespace hybridkv
