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
/// the sequence that a slot or a saved prompt holds, so it could have resumed wherever one ever lay. A checkpoint that
/// was dropped because it lay too near to the one before it counts as dropped by retention. One whose sequence gave way
/// counts as evicted, K and V with it. One that a saved prompt or a slot still holds, but not the slot that the prompt
/// went to, counts as held by another group. Where the prompt fits no slot, a state that any of them holds is lost to
/// memory. Memory grows with the distinct content of the trace, time of a request with what slots and saved prompts
/// hold.
class SlotLedger {
 public:
  /// Sets the hook `on_near` of a replay, which lives at least as long.
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
    std::int64_t last_held = 0;  // after so many requests somebody held it
    bool was_near = false;       // since then it was erased as it lay near another one
  };

  Position& at(std::uint64_t chain, std::int64_t tokens);
  void enter_held(std::uint64_t chain, std::int64_t tokens);
  void enter_held(const SavedSequence& sequence);
  void enter_all_held();

  const SlotReplay& replay_;
  SeenPrefixes announced_;
  std::unordered_map<std::uint64_t, std::vector<Position>> positions_;  // by the chain of the run in which they lie
  std::int64_t requests_ = 0;         // that have ended
  ReuseTrail trail_;                  // of the request under way
  std::vector<Position> lost_;        // on its path, ascending
  LossStats stats_;
};

}  // namespace hybridkv
