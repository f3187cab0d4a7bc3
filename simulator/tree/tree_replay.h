#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "simulator/schedule/request_record.h"
#include "simulator/trace/trace.h"
#include "simulator/tree/radix_tree.h"
#include "simulator/tree/tree_settings.h"

namespace hybridkv {

/// What became of one request in a dual pool with a radix tree, and what the pools and the tree hold after it.
struct TreeRecord {
  std::int64_t index = 0;                ///< in the trace
  std::int64_t input_length = 0;         ///< tokens
  std::int64_t hit_tokens = 0;           ///< found with KV and state
  std::int64_t kv_match_tokens = 0;      ///< that KV alone matched
  std::int64_t branch_tokens = 0;        ///< branch point, 0 = none
  std::vector<std::int64_t> chunks;      ///< tokens of each prefill chunk
  std::int64_t generated = 0;            ///< tokens
  std::int64_t evicted_tokens = 0;       ///< to make room for it
  std::int64_t evicted_states = 0;       ///< to make room for it; not those that the limit of a path dropped
  std::int64_t states_made = 0;          ///< that the tree kept
  std::int64_t states_used = 0;          ///< hit by it that nobody had hit before, 0 or 1
  std::int64_t states_trimmed = 0;       ///< that the limit of a path dropped
  std::int64_t evicted_unused_states = 0;///< of the states evicted, never hit before
  std::int64_t loaded_tokens = 0;        ///< from the host, to be hit
  std::int64_t loaded_states = 0;        ///< the same, 0 or 1
  std::int64_t free_tokens = 0;          ///< afterwards
  std::int64_t free_states = 0;
  std::int64_t tree_tokens = 0;
  std::int64_t tree_states = 0;
  RequestStatus status = RequestStatus::ok;
  bool operator==(const TreeRecord&) const = default;
};

/// First line of a CSV file of such records, without line end: the fields of SGLang's own replays.
inline constexpr std::string_view tree_csv_header =
    "idx,input_length,hit_tokens,full_kv_match,branch_at,num_chunks,chunk_sizes,evicted_tokens,evicted_states,"
    "free_tokens_after,free_states_after,tree_tokens,tree_states,status";
/// The line of one request, without line end. A refused request hits -1; without states their fields are empty.
std::string tree_csv_row(const TreeRecord& record, bool has_states);

/// What a request holds of a dual pool.
struct TreeRequest {
  std::span<const TokenRun> content;  ///< its prompt, and the tokens it generates where it does
  std::int64_t prompt_tokens = 0;     ///< n
  std::int64_t output_tokens = 1;     ///< to generate, >= 1
  std::int64_t computed_tokens = 0;   ///< that have KV, found or its own
  TreeNodeId node = tree_root;        ///< locked
  bool locks_state = false;           ///< that node's too
  std::int64_t protected_tokens = 0;  ///< that the locked path holds; from there on pages are its own
  std::int64_t own_pages = 0;
  PageRows rows;                      ///< of its own pages, where pages have numbers
  StateSlot active = 0;               ///< its running state
  std::vector<StateSlot> tracking;    ///< the states to be kept go here first, in turn; the last one was written last
  std::int64_t tracked_tokens = 0;    ///< what the tree is to know next: to the state last taken, 0 = nothing new
};

/// What a model computes for a request at once, once its pages and slots are taken: a chunk of the prompt, or a stretch
/// of the decode.
struct TreeForward {
  std::int64_t start = 0, end = 0;  ///< tokens; the state of `start` is in the active slot, that of `end` goes there
  std::int64_t kept_tokens = 0;     ///< where on the way a state is taken, start < .. <= end; 0 = nowhere
  StateSlot kept_slot = 0;          ///< the tracking slot that it is taken to
};

/// Requests of a trace one at a time through a dual pool with a radix tree, in the order of actions of SGLang 0.5.23.
///
/// Match, lock; then per chunk slots, pages, the forward, and a state that goes to the tree; decode; insert, release.
/// Deterministic. Memory grows with the pool, not with the trace.
class TreeReplay {
 public:
  /// Throws SpecError for unusable settings.
  explicit TreeReplay(const TreeSettings& settings);

  /// Runs one request to its end. `content` is its prompt; where it goes on beyond the prompt's length, that is what
  /// the request generates, else it generates content of its own. The record is valid until the next call.
  const TreeRecord& run(const TraceRequest& request, std::span<const TokenRun> content);

  const TreeSettings& settings() const { return settings_; }
  const RadixTree& tree() const { return tree_; }
  /// The request under way, or the last one: it then holds nothing.
  const TreeRequest& request() const { return request_; }
  /// Where set, called after every action that changes what is held.
  std::function<void()> after_action;
  /// Where set, called where an engine computes, and where it copies a state from slot to slot.
  std::function<void(const TreeForward&)> on_forward;
  std::function<void(StateSlot from, StateSlot to)> on_state_copy;
  /// Sets RadixTree::on_state of its tree.
  void watch_states(std::function<void(std::uint64_t chain, std::int64_t tokens, TreeStateChange)> on_state) {
    tree_.on_state = std::move(on_state);
  }

 private:
  friend struct TreePeek;

  void start(const TraceRequest& request, std::span<const TokenRun> content);
  bool admit();
  // Brings a hit to the device that lies on the host; the hit is what lies on the device where there is no room.
  void load_back(TreeMatch& match);
  std::int64_t chunk_end() const;
  bool take_states();
  bool take_pages(std::int64_t end);
  // How far the tree is to know the chunk [start, end): where its state is taken, 0 = nowhere; without states its end.
  std::int64_t tracked_in(std::int64_t start, std::int64_t end) const;
  bool prefill();
  bool keep_chunk(bool is_last);
  bool decode();
  bool decode_to(std::int64_t tokens);
  // Tracking slot for a state of the decode, 0 = none.
  StateSlot next_tracking_slot();
  // Has the step behind the request's last begun to write over the one slot that holds what the tree was to get?
  bool overwrites_in_flight() const;
  void forward(const TreeForward& computed);
  void copy_state(StateSlot from, StateSlot to) const {
    if (on_state_copy) on_state_copy(from, to);
  }
  void finish();
  TreeInsertion insert(std::int64_t tokens, StateSlot offered, bool is_use = true);
  void lock(TreeNodeId node);
  void unlock();
  void release();
  void acted() const {
    if (after_action) after_action();
  }

  TreeSettings settings_;
  RadixTree tree_;
  std::int64_t grid_;         // G
  std::int64_t decode_grid_;  // I
  TreeRequest request_;
  TreeRecord record_;
  std::vector<TokenRun> content_;  // of the request under way, where it generates
};

}  // namespace hybridkv
