#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulator/snapshots/snapshot_replay.h"
#include "verify/forward/forward_case.h"
#include "verify/forward/forward_engine.h"
#include "verify/forward/forward_run.h"
#include "verify/forward/forward_slots.h"

namespace hybridkv {

/// Two pools under a tree with snapshots: requests go in one at a time, and what SnapshotReplay says is computed and
/// copied is done to the tensors, in that order. Every token's output is compared.
///
/// Beside the tensors it is kept what tokens each page and each state is of, so that it is known where a planted fault
/// has an effect: where a step reads what is of others.
class SnapshotRun {
 public:
  /// `settings`: requests generate, in no more pages and slots than the plan has.
  SnapshotRun(const ForwardSetting& setting, const SnapshotSettings& settings, ForwardResult& result);
  SnapshotRun(const SnapshotRun&) = delete;
  SnapshotRun& operator=(const SnapshotRun&) = delete;

  /// Runs a request to its end.
  SnapshotRecord run(const SlotPrompt& request);

  const ForwardEngine& engine() const { return engine_; }
  std::int64_t num_steps() const { return num_steps_; }  ///< of all prompts

  /// Adds up what the engine did.
  void count();
  void expect(bool happened, const std::string& what) { expect_event(happened, what, result_); }

 private:
  using Bytes = std::vector<std::vector<std::byte>>;  // of a state, by recurrent layer
  /// A state that the tree has or had.
  struct Snapshot {
    std::uint64_t chain = 0;              // of its tokens
    std::vector<std::uint64_t> contents;  // of these, by position
    Bytes bytes;
  };

  void compute(std::int64_t start, std::int64_t end);
  void compute_chunk(std::int64_t start, std::int64_t end);
  void copy_page(SnapshotPage from, SnapshotPage to);
  void copy_state(SnapshotPage from, SnapshotPage to);
  void follow_state(std::uint64_t chain, std::int64_t tokens, SnapshotChange change);
  RequestBlocks blocks_of_request() const;
  SnapshotPage running() const { return shared_.value_or(replay_.running()); }
  BlockId page_row(SnapshotPage page) const;
  BlockId state_row(SnapshotPage state) const;
  std::uint64_t& written(std::int64_t position);
  /// Is any of the tokens before this one, or the state behind them, of others?
  bool reads_others(std::int64_t start);
  /// Planted: the request goes on from a snapshot that it must not find.
  void go_on_from_lost(std::int64_t start);
  /// May the request under way be taken for one that goes on from it, for all that the planted fault looks at?
  bool is_taken_for(const Snapshot& snapshot) const;
  SnapshotPage another_state(SnapshotPage state) const;
  bool planted(ForwardFault fault) const { return setting_.fault == fault; }
  bool plants_snapshots() const {
    return planted(ForwardFault::lost_pages) || planted(ForwardFault::stale_checkpoint);
  }

  const ForwardSetting& setting_;
  ForwardResult& result_;
  ForwardEngine engine_;
  SnapshotReplay replay_;
  std::vector<SnapshotRecord> records_;
  std::vector<std::uint64_t> contents_;  // of the request under way, by position
  std::vector<std::uint64_t> chains_;    // by the number of its tokens
  std::int64_t prompt_tokens_ = 0;
  std::optional<std::int64_t> computed_; // of these; unset before its first step
  std::map<SnapshotPage, std::vector<std::uint64_t>> pages_;  // chains by page and token in it
  std::map<SnapshotPage, std::uint64_t> states_;              // the same by slot
  std::set<SnapshotPage> used_pages_;
  std::optional<SnapshotPage> shared_;           // planted: the request runs in the tree's slot
  std::optional<Snapshot> before_last_;          // planted: the running state one token earlier
  Snapshot made_;                                // planted: that the tree is given
  std::map<std::pair<std::uint64_t, std::int64_t>, Snapshot> kept_, lost_;  // planted: in the tree, cut from it
  std::int64_t num_steps_ = 0, num_planted_ = 0;
};

}  // namespace hybridkv
