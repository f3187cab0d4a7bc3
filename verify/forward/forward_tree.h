#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "simulator/tree/tree_replay.h"
#include "verify/forward/forward_case.h"
#include "verify/forward/forward_engine.h"
#include "verify/forward/forward_run.h"

namespace hybridkv {

/// What one request of a case is told, and what it generates.
struct TreePrompt {
  std::vector<ContentRun> prompt;
  ContentRun output{0, 1};  ///< at least one token

  /// Prompt and output.
  std::vector<ContentRun> all() const;
};

/// Requests by themselves, without tensors: what became of each. `settings` as TreeRun takes them.
std::vector<TreeRecord> replay_prompts(const TreeSettings& settings, std::span<const TreePrompt> requests);

/// The smallest number of ids, up to that in `settings`, with which every request ends and shows what its case is
/// about; where none does, that in `settings`. `size`: token_slots, in whole pages, or state_slots.
std::int64_t smallest_pool(TreeSettings settings, std::int64_t TreeSettings::*size,
                           std::span<const TreePrompt> requests,
                           const std::function<bool(std::span<const TreeRecord>)>& shows);

/// An engine under a radix tree: requests go in one at a time, and what the tree says is done to the tensors, in that
/// order; every token's output is compared.
///
/// Page tables are the rows of the tree and then the request's own; a state that was hit is copied to the request's
/// slot, one without a hit is zeroed; the recurrence stops where a state is taken.
class TreeRun {
 public:
  /// `settings`: pages have numbers, requests generate, no more ids than the plan has.
  TreeRun(const ForwardSetting& setting, const TreeSettings& settings, ForwardResult& result);
  TreeRun(const TreeRun&) = delete;
  TreeRun& operator=(const TreeRun&) = delete;

  /// Runs a request to its end.
  TreeRecord run(const TreePrompt& request);

  const RadixTree& tree() const { return replay_.tree(); }
  const ForwardEngine& engine() const { return engine_; }
  /// Slots of the tree's states behind so many tokens; of all others where `others`. Least recently used first.
  std::vector<StateSlot> state_slots_at(std::int64_t tokens, bool others = false) const;
  /// The slots that states were taken to, by the request that ran last, each once.
  std::int64_t num_tracking_slots() const { return std::ssize(tracked_); }
  /// Where that fault is planted, the next match goes on from the state in this slot instead of the one it found.
  void plant(ForwardFault fault, std::span<const StateSlot> slots);

  /// Adds up what the engine did.
  void count();
  void expect(bool happened, const std::string& what) { expect_event(happened, what, result_); }

 private:
  void compute(const TreeForward& computed);
  void compute_chunk(ForwardChunk chunk);
  void copy_state(StateSlot from, StateSlot to);
  /// Rows of the request under way, by page.
  PageRows page_table();
  /// Planted: rows of pages that went back stay in the table of their request, or in the tree.
  PageRows with_stale_rows(const PageRows& right);
  PageRows with_freed_rows(const PageRows& right, std::size_t of_tree);
  RequestBlocks blocks_of(const PageRows& rows) const;
  /// Where a state is taken; elsewhere with a fault planted.
  void keep(const TreeForward& computed, ForwardChunk& chunk);
  bool planted(ForwardFault fault) const { return setting_.fault == fault; }

  const ForwardSetting& setting_;
  ForwardResult& result_;
  ForwardEngine engine_;
  TreeReplay replay_;
  std::vector<TreeRecord> records_;
  std::vector<std::uint64_t> contents_;       // of the request under way, by position
  PageRows table_;                            // planted: of the request under way, as it was last
  struct FreedRow {
    BlockId row = null_block_id;
    bool taken_again = false;
  };
  std::map<BlockId, FreedRow> freed_rows_;    // planted: by the page that the tree has instead
  std::set<StateSlot> tracked_;
  std::set<BlockId> used_pages_;
  std::optional<StateSlot> shared_;           // planted: runs in the tree's slot
  std::optional<StateSlot> match_from_;       // planted
  // Slots that hold, or whose owner believes to hold, another state than the tree says; effects count where they are
  // hit.
  std::set<StateSlot> spoilt_;
  std::int64_t num_planted_ = 0;
};

}  // namespace hybridkv
