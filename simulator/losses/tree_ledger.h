#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "simulator/losses/reuse_loss.h"
#include "simulator/losses/seen_prefixes.h"
#include "simulator/tree/tree_replay.h"

namespace hybridkv {

/// Books what requests through a dual pool with a radix tree compute again although an earlier prompt began with it, as
/// LossLedger does for pools of blocks.
///
/// The ledger observes a replay and changes nothing. A state may lie at any whole page, so a request could have resumed
/// wherever one ever lay. A state that the limit of a path dropped, or that was taken and did not reach the tree,
/// counts as dropped by retention. A tree with states never lacks the KV before a state. Memory grows with the distinct
/// content of the trace.
class TreeLedger {
 public:
  /// Sets the hooks `on_forward` and `on_state` of a replay, which lives at least as long.
  explicit TreeLedger(TreeReplay& replay);
  TreeLedger(const TreeLedger&) = delete;
  TreeLedger& operator=(const TreeLedger&) = delete;

  /// Before the replay runs a prompt that it takes in.
  void expect(const TraceRequest& request, std::span<const TokenRun> prompt);
  /// After the run, with its record. The loss is zero for a prompt that was refused as too long.
  ReuseLoss end(const TreeRecord& record);

  const LossStats& stats() const { return stats_; }

 private:
  enum class State { made, trimmed, evicted, held };
  /// Where a state ever lay.
  struct Position {
    std::int64_t tokens = 0;
    State state = State::made;
  };

  void changed(std::uint64_t chain, std::int64_t tokens, State state);
  void computed(const TreeForward& forward);

  TreeReplay& replay_;
  SeenPrefixes announced_;
  SeenPrefixes computed_;
  std::unordered_map<std::uint64_t, std::vector<Position>> states_;  // by the chain of the run in which they lie
  std::span<const TokenRun> prompt_;  // of the request under way
  ReuseTrail trail_;
  std::vector<Position> lost_;        // states of earlier requests on its path, ascending
  std::int64_t computed_before_ = 0;  // tokens of its prompt that earlier requests computed
  LossStats stats_;
};

}  // namespace hybridkv
