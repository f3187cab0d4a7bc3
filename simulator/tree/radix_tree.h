#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "planner/tree_host.h"
#include "simulator/losses/run_store.h"
#include "simulator/pool/free_queue.h"
#include "simulator/pool/hash_index.h"
#include "simulator/pool/token_pool.h"
#include "simulator/trace/chain_hash.h"

namespace hybridkv {

/// A node of a radix tree, 0 = the root. Numbers of nodes that are gone are used again.
using TreeNodeId = BlockId;
inline constexpr TreeNodeId tree_root = null_block_id;

/// A state slot, 0 = none (the engine's dummy).
using StateSlot = BlockId;

/// What a match found.
struct TreeMatch {
  TreeNodeId node = tree_root;    ///< deepest node walked that has all that a hit needs, on the device or the host
  std::int64_t hit_tokens = 0;    ///< where it ends
  std::int64_t kv_tokens = 0;     ///< that KV alone matched, >= hit_tokens
  TreeNodeId device_node = tree_root;  ///< with a host tier: the deepest that has it all on the device
  std::int64_t device_tokens = 0;      ///< where that ends
  bool operator==(const TreeMatch&) const = default;
};

/// What became of a state of the tree.
enum class TreeStateChange {
  kept,     ///< an insertion took it
  trimmed,  ///< the limit of a path dropped it
  evicted,  ///< alone or with its node
};

/// What an insertion did.
struct TreeInsertion {
  TreeNodeId node = tree_root;      ///< the node that ends the inserted tokens
  std::int64_t existing_tokens = 0; ///< whose KV was there before: the caller's is a duplicate
  bool took_state = false;          ///< the node keeps the offered slot; if not it is still the caller's
};

/// The KV that a request offers to the tree: its pages behind the tokens that the tree already holds for it.
struct OfferedPages {
  std::int64_t protected_tokens = 0;  ///< held by the tree and locked by the request, whole pages
  PageRows* rows = nullptr;           ///< of the tokens from there on, where pages have numbers
  bool is_use = true;                 ///< counts for what is copied to the host: a chunk with others behind it does not
};

/// What a tree has evicted so far.
struct TreeEvictions {
  std::int64_t tokens = 0;
  std::int64_t states = 0;  ///< with their nodes or alone; not those that the limit of a path dropped
  std::int64_t nodes = 0;   ///< whole, with their tokens
  std::int64_t unused_states = 0;  ///< of the states, never hit before
  bool operator==(const TreeEvictions&) const = default;
};

/// What went between a tree's pools and its host tier so far.
struct TreeHostCounts {
  std::int64_t written_tokens = 0, written_states = 0;
  std::int64_t loaded_tokens = 0, loaded_states = 0;
  std::int64_t evicted_tokens = 0, evicted_states = 0;  ///< that left the host
  std::int64_t failed_loads = 0;                        ///< of hits for which the device had no room
  bool operator==(const TreeHostCounts&) const = default;
};

/// The prefix tree over a dual pool of token slots and state slots (SGLang 0.5.23 UnifiedRadixCache, components FULL
/// and MAMBA), and both pools.
///
/// A node has a stretch of tokens in whole pages with their KV, and at most one state: that at the END of the stretch.
/// KV is locked from a node to the root, a state alone. Leaves leave by the time of their last use, whole; states by a
/// list of their own, least recently used first: one of a leaf takes the leaf along, any other leaves its KV behind.
///
/// With a host tier a node may have copies of its KV and its state there, and stays in the tree while it has KV on
/// either side: nodes with KV on the device come first on every path, those with it on the host alone hang below, and a
/// leaf is then one that has no child with KV on the device. A copy is made at once, in no time.
///
/// Prompts stay runs: a node refers to runs, so no operation depends on the number of tokens. A walk looks up each node
/// by the key of its first page; without growth of the tree nothing is allocated.
class RadixTree {
 public:
  struct Settings {
    std::int64_t token_slots = 0;
    std::int64_t state_slots = 0;       ///< beside the dummy; 0 without states
    std::int64_t page = 1;              ///< tokens
    bool has_states = true;             ///< without, a hit needs KV alone
    std::int64_t max_states_per_path = -1;  ///< from the root to a node that takes one; -1: no limit
    bool numbers_pages = false;         ///< pages have numbers, else they are only counted
    TreeHost host = {};                 ///< the tier behind both pools
  };
  explicit RadixTree(const Settings& settings);

  const Settings& settings() const { return settings_; }
  TokenPool& token_pool() { return token_pool_; }
  const TokenPool& token_pool() const { return token_pool_; }
  FreeQueue& free_states() { return free_states_; }
  const FreeQueue& free_states() const { return free_states_; }
  std::int64_t num_tokens() const { return tokens_; }              ///< in the tree, on the device
  std::int64_t num_states() const { return by_state_.size(); }     ///< in the tree, on the device
  std::int64_t num_nodes() const { return index_.size(); }         ///< without the root
  std::int64_t evictable_tokens() const { return evictable_tokens_; }  ///< in nodes that nobody locks
  const TreeEvictions& evictions() const { return evictions_; }
  std::int64_t num_used_states() const { return used_states_; }        ///< so far, hit at least once
  std::int64_t num_trimmed_states() const { return trimmed_states_; }  ///< so far, dropped by the limit of a path
  std::int64_t num_splits() const { return splits_; }
  std::int64_t free_host_tokens() const { return free_host_tokens_; }
  std::int64_t free_host_states() const { return free_host_states_; }
  const TreeHostCounts& host_counts() const { return host_counts_; }
  /// On the device.
  bool has_state(TreeNodeId node) const { return state_of(node) != 0; }
  /// Does a hit of this node have to load its KV or its state from the host?
  bool is_away(TreeNodeId node) const {
    return !nodes_[node].on_device || (nodes_[node].state == 0 && nodes_[node].state_on_host);
  }
  StateSlot state_of(TreeNodeId node) const { return nodes_[node].state; }
  std::int64_t end_of(TreeNodeId node) const { return nodes_[node].end; }

  /// The longest prefix of the first `limit` tokens of a prompt. A node matched in part is split. The hit's state
  /// becomes the most recently used one; the hit and the nodes above it are used now, the hit last.
  TreeMatch match(std::span<const TokenRun> prompt, std::int64_t limit);
  /// Adds the first `tokens` tokens, cut to whole pages. KV that is there wins: the caller's pages of those tokens go
  /// back to the pool (or their rows become the tree's). `offered` 0: no state.
  /// Pre: what `pages` says is protected is in the tree and locked.
  TreeInsertion insert(std::span<const TokenRun> prompt, std::int64_t tokens, StateSlot offered,
                       const OfferedPages& pages);

  /// Locks the KV of a node and of all above it.
  void lock(TreeNodeId node);
  void unlock(TreeNodeId node);
  /// Locks the state of a node. Pre: it has one, or is the root, where this does nothing.
  void lock_state(TreeNodeId node);
  void unlock_state(TreeNodeId node);

  /// Evicts leaves that nobody locks, least recently used first, until `tokens` are free again or none is left.
  void evict_tokens(std::int64_t tokens);
  /// Evicts states that nobody locks, least recently used first, until `states` are free again or none is left.
  void evict_states(std::int64_t states);
  /// Loads what a hit has on the host alone, KV of the nodes above too, and takes a slot for the request to run in
  /// where a state is loaded. False, with nothing loaded and taken, where the device has no room, or for a few tokens
  /// without a state. Pre: is_away(node).
  bool load_back(TreeNodeId node, StateSlot& running);

  /// Where set, called of every state that comes or goes: the chain of the run that it ends in, and its tokens.
  std::function<void(std::uint64_t chain, std::int64_t tokens, TreeStateChange)> on_state;

  /// Depths of all states, ascending, for tests and reports.
  std::vector<std::int64_t> state_positions() const;
  /// Pages from the root to a node, where pages have numbers.
  PageRows rows_of(TreeNodeId node) const;

 private:
  friend struct TreePeek;

  struct Node {
    std::int64_t start = 0, end = 0;         // tokens from the root
    std::int64_t used = 0;                   // last use, by the tree's clock
    std::uint64_t chain = empty_chain;       // of the run that holds token end - 1
    std::int64_t first_run = 0, last_run = 0;// of its prompt, that hold tokens start and end - 1
    RunStore::Stretch runs = 0;
    TreeNodeId parent = tree_root;
    std::uint32_t children = 0;
    std::uint32_t device_children = 0;       // with KV on the device
    std::uint32_t locks = 0, state_locks = 0;
    std::uint32_t uses = 0;                  // by insertions, that count for copies to the host
    StateSlot state = 0;                     // on the device
    bool state_used = false;                 // hit at least once
    bool on_device = true;                   // its KV; the root's is nothing
    bool on_host = false;                    // a copy of its KV
    bool state_on_host = false;              // a copy of its state
  };

  // A walk from the root along a prompt.
  struct Walk {
    std::span<const TokenRun> prompt;
    std::int64_t limit = 0;  // whole pages
    TreeNodeId node = tree_root;
    std::int64_t tokens = 0; // matched
    std::size_t run = 0;     // at or before the one that holds the next page's last token
  };
  // The child that begins with the next page of the walk, or the root: there is none.
  TreeNodeId next_child(Walk& walk) const;
  // Tokens from the root that the walk's prompt and a child have in common, whole pages. Pre: from next_child.
  std::int64_t common_tokens(const Walk& walk, const Node& child) const;
  // Number of the run that holds a token of the node.
  std::int64_t run_of(const Node& node, std::int64_t token) const;
  PrefixKey first_page_key(const Node& node) const;
  TreeNodeId new_node();
  void free_node(TreeNodeId id);
  // Cuts a node in two; returns the upper one.
  TreeNodeId split(TreeNodeId id, std::int64_t at);
  TreeNodeId add_leaf(const Walk& walk, PageRows rows);
  void use_now(TreeNodeId id);
  // The state of an insertion; false where the node has one, which is then used now.
  bool keep_state(TreeNodeId id, StateSlot offered);
  // A node joins a list of leaves by its last use; the search starts behind a leaf near there.
  void join_leaves(FreeQueue& leaves, TreeNodeId id, TreeNodeId after);
  bool has_hit(TreeNodeId id) const {
    return !settings_.has_states || nodes_[id].state != 0 || nodes_[id].state_on_host;
  }
  // The request's pages of a node's tokens, taken out of those that it gives.
  PageRows rows_between(const PageRows& given, std::int64_t first, std::int64_t start, std::int64_t end) const;
  // A node has KV on the device from now on; its pages are taken. It joins the leaves where it is one.
  void gain_kv(TreeNodeId id, PageRows rows);
  // A leaf's pages are free; returns the parent if that became a leaf, else the root.
  TreeNodeId lose_kv(TreeNodeId id);
  // A leaf leaves the device, and the tree where the host has no copy; returns as lose_kv.
  TreeNodeId evict_leaf(TreeNodeId id);

  // The host tier, radix_tree_host.cc.
  bool has_host() const { return settings_.host.exists(); }
  void count_use(TreeNodeId id);
  bool copy_path(TreeNodeId id);
  bool copy_to_host(TreeNodeId id);
  TreeNodeId move_to_host(TreeNodeId id);
  void evict_host_tokens(std::int64_t tokens);
  void evict_host_states(std::int64_t states);
  // Removes a node without children that the host alone has; returns the parent if that is such a one then.
  TreeNodeId remove_host_leaf(TreeNodeId id);
  void drop_host_state(TreeNodeId id);
  // Removes all below a leaf, which the host alone has.
  void drop_copies_below(TreeNodeId id);
  bool take_room(std::int64_t tokens, bool state);
  void load(TreeNodeId id);
  // Drops the shallowest states above a node that took one, beyond the limit of a path: not those of forks, nor locked.
  void trim_path(TreeNodeId tail);
  // Removes a leaf with all it has; returns the parent if that became a leaf, else the root.
  TreeNodeId remove_leaf(TreeNodeId id);
  void drop_state(TreeNodeId id);
  void tell(TreeNodeId id, TreeStateChange change) const {
    if (on_state) on_state(nodes_[id].chain, nodes_[id].end, change);
  }
  void evict_state(TreeNodeId id);
  std::int64_t size(const Node& node) const { return node.end - node.start; }

  Settings settings_;
  TokenPool token_pool_;
  FreeQueue free_states_;
  std::vector<Node> nodes_;
  std::vector<TreeNodeId> unused_;
  std::vector<PageRows> rows_;   // (node), where pages have numbers
  std::vector<TreeNodeId> path_; // scratch
  RunStore runs_;
  HashIndex index_;              // of nodes, by the key of their first page
  FreeQueue leaves_;             // of the device, locked ones too, least recently used first
  FreeQueue by_state_;           // nodes with a state, locked ones too, least recently used first
  FreeQueue host_leaves_;        // nodes without children that the host alone has, least recently used first
  FreeQueue by_host_state_;      // nodes whose state the host alone has, the longest there first
  TreeNodeId host_locked_ = tree_root;  // stays on the host while it is loaded
  std::int64_t free_host_tokens_ = 0;
  std::int64_t free_host_states_ = 0;
  TreeHostCounts host_counts_;
  std::int64_t clock_ = 0;
  std::int64_t tokens_ = 0;
  std::int64_t evictable_tokens_ = 0;
  std::int64_t splits_ = 0;
  std::int64_t used_states_ = 0;
  std::int64_t trimmed_states_ = 0;
  TreeEvictions evictions_;
};

}  // namespace hybridkv
