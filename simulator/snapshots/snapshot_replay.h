#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "simulator/snapshots/snapshot_eviction.h"
#include "simulator/snapshots/snapshot_record.h"
#include "simulator/snapshots/snapshot_settings.h"
#include "simulator/snapshots/snapshot_tree.h"
#include "simulator/trace/trace.h"

namespace hybridkv {

/// Requests of a trace one at a time through the pools and the tree of TensorRT-LLM's second manager: look up, take,
/// compute in chunks that end at the points of snapshots, commit there, release.
/// Deterministic. Memory grows with the pools, not with the trace.
class SnapshotReplay {
 public:
  /// Throws SpecError for unusable settings.
  explicit SnapshotReplay(const SnapshotSettings& settings);

  /// Runs one request to its end. The record is valid until the next call.
  const SnapshotRecord& run(const TraceRequest& request, std::span<const TokenRun> prompt);

  /// The record of a request that is not taken in.
  SnapshotRecord turned_away(const TraceRequest& request) const;

  const SnapshotSettings& settings() const { return settings_; }
  const SnapshotTree& tree() const { return tree_; }
  const PagePool& pages() const { return pages_; }
  const PagePool& states() const { return states_; }
  /// Pages of the blocks of the request under way, in their order.
  const std::vector<SnapshotPage>& held() const { return held_; }
  /// The slot of its running state.
  SnapshotPage running() const { return running_; }
  /// Sets SnapshotTree::on_state of its tree.
  void watch_states(std::function<void(std::uint64_t chain, std::int64_t tokens, SnapshotChange)> on_state) {
    tree_.on_state = std::move(on_state);
  }

  // Where set, called with what is done to tensors, in that order.
  std::function<void(std::int64_t start, std::int64_t end)> on_forward;       ///< tokens of the request are computed
  std::function<void(SnapshotPage from, SnapshotPage to)> on_page_copy;       ///< of K and V
  std::function<void(SnapshotPage from, SnapshotPage to)> on_state_copy;

 private:
  std::vector<std::int64_t> points_of(const SnapshotMatch& match);
  bool take(std::int64_t states, std::int64_t blocks);
  bool start(const SnapshotMatch& match);
  bool grow_to(std::int64_t tokens);
  bool decode(std::int64_t tokens);
  bool prefill(const std::vector<std::int64_t>& points);
  void commit(std::int64_t tokens);
  // Gives the tree whole blocks; those whose nodes left since are hung in again.
  void commit_blocks(std::int64_t blocks);
  void commit_block(std::size_t block, std::int64_t end);
  // The tree's page of a block takes the place of the request's own.
  void share_page(std::size_t block, SnapshotPage page);
  bool needs_state(SnapshotNode node, std::int64_t tokens) const;
  void keep_state(SnapshotNode node, std::int64_t tokens);
  void keep_piece(SnapshotNode parent, std::int64_t start, std::int64_t end);
  void stop_committing();
  void release();
  SnapshotNode parent_of(std::size_t block) const;
  void fill_held(SnapshotRecord& record) const;
  bool may_start(std::int64_t held_blocks) const;
  // Locks what is hit, and brings to the device what lies on the host.
  bool bring_back(const std::vector<SnapshotPage>& pages, SnapshotPage state);
  void copy_sources(SnapshotPage state, SnapshotPage part);

  SnapshotSettings settings_;
  PagePool pages_;
  PagePool states_;
  SnapshotTree tree_;
  SnapshotEviction eviction_;
  std::span<const TokenRun> prompt_;
  std::int64_t length_ = 0;            // of the prompt
  std::int64_t computed_ = 0;          // tokens
  std::vector<SnapshotPage> held_;     // of its blocks, in their order
  std::size_t committed_ = 0;          // of these the tree was given
  std::int64_t committed_tokens_ = 0;
  SnapshotPage running_ = no_page;     // its state
  EvictedPages evicted_;
  SnapshotRecord record_;
};

}  // namespace hybridkv
