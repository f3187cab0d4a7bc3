#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "simulator/losses/reuse_loss.h"
#include "simulator/losses/seen_prefixes.h"
#include "simulator/snapshots/snapshot_replay.h"

namespace hybridkv {

/// Books what requests through a tree with snapshots compute again although an earlier prompt began with it, as
/// LossLedger does for pools of blocks.
///
/// Looks on and changes nothing. Positions are those at which a state ever lay. One that gave way to another in its
/// block is dropped by retention; one that left with its K and V is lost to the eviction of these; one that is there
/// while the look-up ends before it counts as another group's. Memory grows with the distinct content of the trace.
class SnapshotLedger {
 public:
  /// Sets the hook of a replay's tree, which lives at least as long.
  explicit SnapshotLedger(SnapshotReplay& replay);
  SnapshotLedger(const SnapshotLedger&) = delete;
  SnapshotLedger& operator=(const SnapshotLedger&) = delete;

  /// Before the replay runs a prompt that it is not too long for.
  void expect(const TraceRequest& request, std::span<const TokenRun> prompt);
  /// With what the run made of it; zero of a prompt that was refused as too long.
  ReuseLoss end(const SnapshotRecord& record);

  const LossStats& stats() const { return stats_; }

 private:
  /// Where a state ever lay, and what became of it.
  struct Position {
    std::int64_t tokens = 0;
    SnapshotChange state = SnapshotChange::kept;
  };

  void changed(std::uint64_t chain, std::int64_t tokens, SnapshotChange change);

  SeenPrefixes announced_;
  std::unordered_map<std::uint64_t, std::vector<Position>> positions_;  // by the chain of the run in which they lie
  ReuseTrail trail_;
  std::vector<Position> lost_;  // states of earlier requests on the path of the one under way, ascending
  LossStats stats_;
};

}  // namespace hybridkv
