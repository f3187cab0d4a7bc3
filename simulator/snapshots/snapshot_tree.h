#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "simulator/snapshots/page_pool.h"
#include "simulator/trace/chain_hash.h"

namespace hybridkv {

/// A block of a prefix: up to a block of tokens, fewer only in a leaf.
struct SnapshotBlock {
  SnapshotNode parent = no_node;
  SnapshotNode first_child = no_node, last_child = no_node;  // in the order in which they came
  SnapshotNode before = no_node, behind = no_node;           // among the children of its parent
  std::int64_t children = 0;
  PrefixKey key = 0;                 ///< of all tokens up to its end
  std::int64_t start = 0, end = 0;   ///< tokens of the prefix
  std::vector<TokenRun> content;     ///< the runs of its tokens
  SnapshotPage page = no_page;       ///< of K and V
  std::int64_t page_tokens = 0;      ///< of the block that the page covers
  SnapshotPage state = no_page;
  std::int64_t state_tokens = 0;     ///< of the prefix, after which the state is
  bool state_used = false;           ///< hit at least once
};

/// What becomes of a state.
enum class SnapshotChange {
  kept,      ///< the tree has it now
  replaced,  ///< one further on in its block took its place
  evicted,   ///< by its age
  cut,       ///< its K and V left
};

/// A block on the way of a look-up, and how much of it is of the prompt.
struct MatchedBlock {
  SnapshotNode node = no_node;
  std::int64_t tokens = 0;
};

/// What a look-up met.
struct SnapshotMatch {
  std::vector<MatchedBlock> path;
  std::int64_t content_tokens = 0;    ///< that the tree has
  std::int64_t attention_tokens = 0;  ///< of which K and V are there
  std::int64_t hit_tokens = 0;        ///< up to the deepest state in these
  SnapshotNode state_node = no_node;  ///< where it lies
};

/// A tree of blocks; a node may have a page of K and V and a state, both of pools beside it. A node that leaves takes
/// all below it along; pages that the request under way holds stay with it.
class SnapshotTree {
 public:
  SnapshotTree(std::int64_t block_tokens, bool partial_reuse, PagePool& pages, PagePool& states);

  /// Follows the first `tokens` tokens of a prompt: by whole blocks, and in the first piece that is no child into the
  /// child with the longest common beginning, the oldest of equals, unless there are 32 or more.
  SnapshotMatch match(std::span<const TokenRun> prompt, std::int64_t tokens) const;

  const SnapshotBlock& at(SnapshotNode node) const { return nodes_[static_cast<std::size_t>(node)]; }
  static constexpr SnapshotNode root = 0;
  /// The child that is exactly this piece of the prompt; none where there is none.
  SnapshotNode find(std::span<const TokenRun> prompt, std::int64_t end) const;
  /// The node of the prefix with this key.
  SnapshotNode find_key(PrefixKey key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? no_node : found->second;
  }
  /// A child whose content goes on from the piece [start, end) of the prompt; none where there is none.
  SnapshotNode find_longer(SnapshotNode parent, std::span<const TokenRun> prompt, std::int64_t start,
                           std::int64_t end) const;
  /// Adds the piece. A shorter child that it goes on from gives way, and its page and its state become the new one's.
  SnapshotNode add(SnapshotNode parent, std::span<const TokenRun> prompt, std::int64_t start, std::int64_t end);

  /// Gives a node the page; one that it had before is freed.
  void set_page(SnapshotNode node, SnapshotPage page, std::int64_t tokens);
  /// The same of a state.
  void set_state(SnapshotNode node, SnapshotPage state, std::int64_t tokens);
  /// Marks the state of a node as hit. Was it hit for the first time?
  bool use_state(SnapshotNode node);
  /// The node and all below it leave. Idle pages are freed.
  void remove_subtree(SnapshotNode node);
  /// The state alone is freed, for its age.
  void evict_state(SnapshotNode node) { drop_state(node, SnapshotChange::evicted); }
  /// The node leaves if it is a leaf without pages, and so do those above it.
  void remove_if_empty(SnapshotNode node);
  /// The same of leaves without a state, whatever K and V they have.
  void remove_if_stateless(SnapshotNode node);

  /// Where set, called with the chain of the run in which a state lies, its position, and what became of it.
  std::function<void(std::uint64_t chain, std::int64_t tokens, SnapshotChange)> on_state;

  std::int64_t num_blocks() const { return blocks_; }
  std::int64_t num_tokens() const { return tokens_; }
  std::int64_t num_states() const { return states_in_tree_; }

 private:
  SnapshotBlock& node_at(SnapshotNode node) { return nodes_[static_cast<std::size_t>(node)]; }
  SnapshotNode find_shorter(SnapshotNode parent, std::span<const TokenRun> prompt, std::int64_t start,
                            std::int64_t end) const;
  SnapshotNode new_node();
  void drop_state(SnapshotNode node, SnapshotChange why);
  void tell(const SnapshotBlock& block, SnapshotChange change) const;
  void unlink(SnapshotNode node);
  void detach(SnapshotNode node);
  void give_up(PagePool& pool, SnapshotPage page);
  MatchedBlock best_part(SnapshotNode parent, std::span<const TokenRun> prompt, std::int64_t start,
                         std::int64_t end) const;
  void measure(SnapshotMatch& match) const;

  std::int64_t block_tokens_;
  bool partial_reuse_;
  PagePool& pages_;
  PagePool& states_;
  std::vector<SnapshotBlock> nodes_;
  std::vector<SnapshotNode> unused_;
  std::unordered_map<PrefixKey, SnapshotNode> by_key_;
  std::int64_t blocks_ = 0, tokens_ = 0, states_in_tree_ = 0;
};

}  // namespace hybridkv
