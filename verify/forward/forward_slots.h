#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "simulator/slots/draft_rows.h"
#include "simulator/slots/slot_replay.h"
#include "verify/forward/forward_case.h"
#include "verify/forward/forward_engine.h"
#include "verify/forward/forward_run.h"

namespace hybridkv {

/// What one request of a case is told, and what it generates and goes on from. The last token of all is never
/// computed, so it is not among them.
struct SlotPrompt {
  std::vector<ContentRun> prompt;
  ContentRun output{0, 0};

  /// Prompt and output.
  std::vector<ContentRun> all() const;
};

/// A server with slots: requests go in one at a time; which slot takes one, where it goes on and which checkpoints
/// there are is what SlotReplay says, and is done to the tensors. Every token's output is compared.
///
/// A slot has a cell for each token that it holds, anywhere among all, and rows of its own. Cells behind the token from
/// which it goes on, those of rejected drafts and those of slots that are cleared go back and are taken again in turn.
/// A prompt is computed in steps that stop where a checkpoint is made, which is a copy of the bytes of the slot's first
/// row. What is saved on the host is a copy of those of its cells and its first row, with its checkpoints. It comes
/// into other cells, and the rows of the slot that gets it. With rows of drafts each step of a decode leaves the state
/// behind every token in a row of its own: they take back rejected drafts, and no prompt goes on from them.
///
/// One thing is done as it should be and not as the server does it, unless that fault is planted: a checkpoint one
/// token past where a prompt goes on is erased.
class SlotRun {
 public:
  /// `settings`: no more slots and cells than the plan has.
  SlotRun(const ForwardSetting& setting, const SlotSettings& settings, ForwardResult& result);
  SlotRun(const SlotRun&) = delete;
  SlotRun& operator=(const SlotRun&) = delete;

  /// Runs a request to its end.
  SlotRecord run(const SlotPrompt& request);

  const ForwardEngine& engine() const { return engine_; }
  bool holds_nothing(std::int64_t slot) const { return held_[static_cast<std::size_t>(slot)].cells.empty(); }
  std::int64_t num_steps() const { return num_steps_; }        ///< of all prompts
  std::int64_t num_restored() const { return num_restored_; }  ///< checkpoints
  std::int64_t num_cleared() const { return num_cleared_; }    ///< slots, for cells or as they were saved
  std::int64_t num_loaded() const { return num_loaded_; }      ///< saved prompts

  /// Adds up what the engine did.
  void count();
  void expect(bool happened, const std::string& what) { expect_event(happened, what, result_); }

 private:
  struct Checkpoint {
    std::int64_t request = 0;
    std::vector<std::vector<std::byte>> states;  // by recurrent layer
    std::vector<std::uint64_t> contents;         // of the tokens that it is behind
    bool is_spoilt = false;                      // planted: of another token
  };
  struct Held {
    std::vector<BlockId> cells;                  // by position
    std::vector<BlockId> table;                  // the same, as its steps have it
    std::int64_t accepted = 1;                   // the row, from 1, of the state behind its last token
    std::int64_t right_accepted = 1;             // the same without the planted fault
    std::int64_t request = -1;                   // the last one that ran in it
    std::map<std::int64_t, Checkpoint> checkpoints;  // by their tokens
  };
  /// What the host keeps of a slot.
  struct Saved {
    std::vector<std::byte> cells;
    std::vector<std::uint64_t> written;          // planted: of what tokens each cell is
    std::vector<std::vector<std::byte>> states;  // behind its last token
    bool is_spoilt = false;                      // planted: of another one
    std::map<std::int64_t, Checkpoint> checkpoints;
  };

  Held& held_by(const SlotRecord& record) { return held_[static_cast<std::size_t>(record.slot)]; }
  std::int64_t drafts() const { return setting_.plan.rows->rows_per_sequence - 1; }
  BlockId first_row(std::int64_t slot) const;
  RequestBlocks blocks_of(std::int64_t slot) const;
  void clear_emptied();
  /// What was saved is copied to the host, what was loaded comes from it, and what the host gave up goes.
  void follow_host(const SlotRecord& record);
  void save(std::int64_t request);
  void load(const SlotRecord& record);
  void give_back(Held& held, std::int64_t from);
  void take(Held& held, std::int64_t end);
  /// The slot is made to end behind the tokens that are hit, with their state.
  void go_back(const SlotRecord& record);
  void restore(const SlotRecord& record);
  /// Planted: a checkpoint of other tokens that another slot or the host keeps; null: there is none.
  const Checkpoint* foreign_checkpoint(const SlotRecord& record, const Checkpoint& own) const;
  void drop_checkpoints(const SlotRecord& record);
  void make_checkpoint(const SlotRecord& record, std::int64_t tokens, bool is_spoilt);
  void compute_prompt(const SlotRecord& record);
  /// The state behind the last token of a slot comes into its first row, where it is not there.
  void settle(std::int64_t slot);
  void decode(const SlotRecord& record);
  /// Tokens of contents_ from where the slot ends; `rows`: a row each; the first `kept` are compared and stay.
  struct Step {
    std::int64_t tokens = 0;
    std::int64_t kept = 0;
    bool rows = false;
    bool is_decode = false;
  };
  void compute(const SlotRecord& record, const Step& step);
  void note_foreign_cells(const Held& held, const ForwardChunk& chunk);
  bool planted(ForwardFault fault) const { return setting_.fault == fault; }

  const ForwardSetting& setting_;
  ForwardResult& result_;
  ForwardEngine engine_;
  SlotReplay replay_;
  std::vector<SlotRecord> records_;
  std::vector<Held> held_;               // by slot
  std::map<std::int64_t, Saved> saved_;  // by the last request that ran in it
  std::deque<BlockId> free_;             // cells, in the order in which they are taken
  std::set<BlockId> used_;               // cells that were taken at least once
  std::vector<std::uint64_t> contents_;  // of the request under way, by position
  std::map<BlockId, std::uint64_t> written_;  // planted: by cell, of what tokens its K and V are
  std::int64_t num_steps_ = 0, num_restored_ = 0, num_cleared_ = 0, num_loaded_ = 0, num_planted_ = 0;
};

}  // namespace hybridkv
