#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "simulator/trace/trace.h"
#include "simulator/tree/radix_tree.h"
#include "simulator/tree/tree_request.h"
#include "simulator/tree/tree_settings.h"

namespace hybridkv {

/// What requests do in a dual pool with a radix tree, action by action (SGLang 0.5.23); which request acts when is up
/// to those that derive from it.
///
/// Match, lock; then per chunk slots, pages, the forward, and a state that goes to the tree; decode; insert, release.
class TreeActions {
 public:
  const TreeSettings& settings() const { return settings_; }
  const RadixTree& tree() const { return tree_; }
  /// Where set, called after every action that changes what is held.
  std::function<void()> after_action;
  /// Where set, called where an engine computes, and where it copies a state from slot to slot.
  std::function<void(const TreeForward&)> on_forward;
  std::function<void(StateSlot from, StateSlot to)> on_state_copy;
  /// Sets RadixTree::on_state of its tree.
  void watch_states(std::function<void(std::uint64_t chain, std::int64_t tokens, TreeStateChange)> on_state) {
    tree_.on_state = std::move(on_state);
  }

  /// Writes to a record what pools and tree hold now.
  void close(TreeRecord& record) const;

 protected:
  /// Throws SpecError for unusable settings.
  explicit TreeActions(const TreeSettings& settings);
  ~TreeActions() = default;

  /// What the tree has counted so far, of which a record has the difference.
  struct Counted {
    TreeEvictions evictions;
    std::int64_t used_states = 0, trimmed_states = 0;
  };
  Counted counted() const;
  /// Adds to a record what was counted since.
  void book(TreeRecord& record, const Counted& before) const;

  /// A fresh request; `content` may be referred to until it ends.
  void start(TreeRequest& request, const TraceRequest& traced, std::span<const TokenRun> content) const;
  /// Matches and locks, and asks whether the request fits beside `reserved` tokens. False, still locked, where it does
  /// not.
  bool admit(TreeRequest& request, double reserved);
  /// Slots, and pages up to the ends of their chunks, for all requests of a step; false, with nothing taken, where they
  /// do not suffice.
  bool take_states(std::span<TreeRequest* const> batch);
  bool take_pages(std::span<TreeRequest* const> batch);
  /// The forward of the chunk from `start` on.
  void compute_chunk(TreeRequest& request, std::int64_t start);
  /// The tree gets what a chunk has taken; false where there is no slot for its copy of the state.
  bool keep_chunk(TreeRequest& request, bool is_last);
  /// The decode from `start` to what is computed now: the state at its end is tracked where that lies on the grid.
  void compute_decode(TreeRequest& request, std::int64_t start);
  std::int64_t decode_grid() const { return decode_grid_; }
  void take_decode_pages(TreeRequest& request, std::int64_t pages, std::int64_t tokens);
  /// The tree gets what a request leaves behind at its end.
  void finish(TreeRequest& request);
  /// Gives back all that a request holds.
  void release(TreeRequest& request);

  RadixTree tree_;

 private:
  friend struct TreePeek;

  // Brings a hit to the device that lies on the host; the hit is what lies on the device where there is no room.
  void load_back(TreeRequest& request, TreeMatch& match);
  std::int64_t missing_states(const TreeRequest& request) const;
  // How far the tree is to know the chunk [start, end): where its state is taken, 0 = nowhere; without states its end.
  std::int64_t tracked_in(const TreeRequest& request, std::int64_t start, std::int64_t end) const;
  // Slot for the tree's copy of a state, 0 = none.
  StateSlot slot_for_copy(TreeRequest& request);
  // Tracking slot for a state of the decode, 0 = none.
  StateSlot next_tracking_slot(TreeRequest& request);
  // Has the step behind the request's last begun to write over the one slot that holds what the tree was to get?
  bool overwrites_in_flight(const TreeRequest& request) const;
  void forward(const TreeForward& computed) {
    if (on_forward) on_forward(computed);
  }
  void copy_state(StateSlot from, StateSlot to) const {
    if (on_state_copy) on_state_copy(from, to);
  }
  TreeInsertion insert(TreeRequest& request, std::int64_t tokens, StateSlot offered, bool is_use = true);
  void lock(TreeRequest& request, TreeNodeId node, bool with_state);
  void unlock(TreeRequest& request);
  void unlock_state(TreeRequest& request);
  void acted() const {
    if (after_action) after_action();
  }

  TreeSettings settings_;
  std::int64_t grid_;         // G
  std::int64_t decode_grid_;  // I
};

}  // namespace hybridkv
