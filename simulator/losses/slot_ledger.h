#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "simulator/losses/reuse_loss.h"
#include "simulator/losses/seen_prefixes.h"
#include "simulator/slots/slot_replay.h"

namespace hybridkv {

/// Books what prompts through the slots of a server compute again although an earlier prompt began with it, as
/// LossLedger does for pools of blocks.
///
/// The ledger observes a replay and changes nothing. A prompt resumes at a state, which is a checkpoint or the end of
/// the sequence that a slot holds, so it could have resumed wherever one ever lay. A checkpoint that was dropped
/// because it lay too near to the one before it counts as dropped by retention. One whose sequence gave way counts as
/// evicted, K and V with it. One that a slot still holds, but not the slot that the prompt went to, counts as held by
/// another group. Where the prompt fits no slot, a state that any slot holds is lost to memory. Memory grows with the
/// distinct content of the trace.
class SlotLedger {
 public:
  /// Sets the hook `on_drop` of a replay, which lives at least as long.
  explicit SlotLedger(SlotReplay& replay);
  SlotLedger(const SlotLedger&) = delete;
  SlotLedger& operator=(const SlotLedger&) = delete;

  /// Before the replay runs a prompt that it is not too long for.
  void expect(const TraceRequest& request, std::span<const TokenRun> prompt);
  /// After the run, with its record. The loss is zero for a prompt that was refused as too long.
  ReuseLoss end(const SlotRecord& record);

  const LossStats& stats() const { return stats_; }

 private:
  /// Where a state ever lay.
  struct Position {
    std::int64_t tokens = 0;
    std::int64_t held = 0;  // by how many slots
    CheckpointDrop gone = CheckpointDrop::evicted;  // why none holds it
  };
  /// Where the sequence of a slot ends.
  struct End {
    std::uint64_t chain = 0;
    std::int64_t tokens = 0;  // 0: it has none
    bool operator==(const End&) const = default;
  };

  static End end_of(const ServerSlot& slot);
  Position& at(std::uint64_t chain, std::int64_t tokens);
  void dropped(const ServerSlot& slot, const SlotCheckpoint& checkpoint, CheckpointDrop why);
  void enter_changes(const SlotRecord& record);

  SlotReplay& replay_;
  SeenPrefixes announced_;
  std::unordered_map<std::uint64_t, std::vector<Position>> positions_;  // by the chain of the run in which they lie
  std::vector<End> ends_;             // (slot)
  std::span<const TokenRun> prompt_;  // of the request under way
  std::int64_t index_ = -1;           // its own
  ReuseTrail trail_;
  std::vector<Position> lost_;        // on its path, ascending
  LossStats stats_;
};

}  // namespace hybridkv
