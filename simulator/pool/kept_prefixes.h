#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulator/blocks/attention_manager.h"
#include "simulator/blocks/request_blocks.h"
#include "simulator/blocks/state_manager.h"
#include "simulator/pool/block_arena.h"
#include "simulator/pool/own_policy.h"
#include "simulator/pool/prefix_rank.h"
#include "simulator/pool/victim_chooser.h"

namespace hybridkv {

/// The prefixes that a cache with states keeps, as a tree, and which of them goes next, by an EvictionPolicy or a
/// policy of one's own.
///
/// A node stands for a prefix of whole match units; at it hang the blocks that end there. A prefix is *kept* while the
/// states of all groups are there and it was not chosen to go; K and V are *alive* while a kept one begins with them.
/// Blocks that are not go first, in the order in which they became so; then the kept prefix of the lowest rank ends,
/// which frees its states and what no other one begins with. Blocks that are held never go. A prefix that went is
/// remembered by its key, so that its return teaches. Deterministic.
class KeptPrefixes final : public VictimChooser {
 public:
  /// All outlive it. Pre: recurrent groups, whose states are cached; the scheduler does not evict as engines do.
  KeptPrefixes(const CacheGeometry& geometry, std::span<const BlockArena> pools,
               const AttentionManager& attention, const StateManager& states);

  /// A request with these keys goes on from a hit of so many tokens; notes its turn and length in it.
  void arrive(RequestBlocks& request, std::span<const PrefixKey> keys, std::int64_t hit_tokens,
              std::int64_t prompt_tokens);
  /// Finds the place of what a request has published since.
  void note(const RequestBlocks& request, std::span<const PrefixKey> keys);

  BlockId choose(std::size_t arena) override;
  void freed(std::size_t arena, BlockId block) override;
  void dropped(std::size_t arena, BlockId block) override;
  void moved(std::size_t arena, BlockId from, BlockId to) override;

  /// Is a block that can be found needed by what is kept, or among those that go first? For checks.
  bool accounts_for(std::size_t arena, BlockId block) const {
    const std::size_t at = row({arena, block});
    return at < spots_.size() && (spots_[at].waits || !is_dead(spots_[at]));
  }
  /// Prefixes that are kept, for checks and tests.
  std::int64_t num_kept() const { return static_cast<std::int64_t>(ranked_[0].size() + ranked_[1].size()); }

 private:
  using NodeId = std::int32_t;
  static constexpr NodeId nowhere = -1;

  struct Place {
    std::size_t arena;
    BlockId block;
  };
  /// What a block is for. Blocks of all arenas stand in one row, those of one number beside each other: it grows with
  /// the blocks that were in use, not with the pools.
  struct Spot {
    NodeId node = nowhere;
    std::int32_t next = -1;   // block at the same node
    std::int32_t group = 0;   // attention groups, then recurrent ones
    bool extra = false;       // a second copy of another block at the node
    bool waits = false;       // among those that go first
  };
  struct Node {
    PrefixKey key = 0;
    NodeId parent = nowhere;
    std::int64_t units = 0;
    std::int32_t children = 0;       // nodes there are
    std::int32_t branches = 0;       // children there ever were
    std::int32_t alive_children = 0;
    std::int32_t blocks = -1;        // first in the row
    std::int32_t states = 0;         // recurrent groups whose state is there
    bool known = false;              // was a kept prefix, and is remembered
    bool kept = false;
    bool used = false;               // since it joined its queue
    std::int8_t queue = 0;
    std::int64_t made = 0, uses = 0, turn = 1;
    std::int64_t ghost = 0;          // number in the queue of those that went
    std::int64_t prompt_tokens = 0;  // of the request that made it
    std::int64_t looked_at = 0;      // number of the last choice that ranked it anew
    double since = 0, rank = 0;
  };

  std::size_t row(Place at) const { return at.block * pools_.size() + at.arena; }
  Place place(std::size_t row) const { return {row % pools_.size(), static_cast<BlockId>(row / pools_.size())}; }
  /// The row of a block, whose spot is there from now on.
  std::size_t known_row(Place at);
  const BlockArena& pool(Place at) const { return pools_[at.arena]; }
  bool alive(const Node& node) const { return node.kept || node.alive_children > 0; }
  bool is_state(const Spot& spot) const { return spot.group >= attention_groups_; }
  /// Does nothing that is kept need it?
  bool is_dead(const Spot& spot) const;

  NodeId find(PrefixKey key) const;
  NodeId node_at(std::span<const PrefixKey> keys, std::int64_t units);
  void leave_if_empty(NodeId node);
  void note_attention(const RequestBlocks& request, std::span<const PrefixKey> keys, std::size_t group);
  void note_states(const RequestBlocks& request, std::span<const PrefixKey> keys, std::size_t group);
  /// Match units up to the end of the prefix of a group's key, between two ends; 0 = none.
  static std::int64_t units_of(PrefixKey key, const GroupKeys& groups, std::size_t group,
                               std::span<const PrefixKey> keys, std::int64_t from, std::int64_t to);
  void put(Place at, std::int32_t group, std::span<const PrefixKey> keys, std::int64_t units,
           const RequestBlocks& request);
  void take_off(std::size_t row);
  void wait(std::size_t row);

  void keep(NodeId node);
  /// No longer kept: its states go first, and so does what was alive for it.
  void end(NodeId node);
  void keep_first(NodeId node, const RequestBlocks& request);
  void touch(NodeId node, bool use);
  void join(NodeId node);
  void part(NodeId node);
  PrefixFacts facts_of(const Node& node) const;
  double rank_of(const Node& node) const { return own_ ? own_->rank(facts_of(node)) : rank_.rank(facts_of(node)); }
  /// Ranks change with neighbours that come and go, and with what is learnt: all are looked at now and then.
  void rank_anew();
  bool is_held(const Node& node) const;
  bool end_weakest();
  NodeId weakest(std::size_t queue);
  void remember(NodeId node);

  PrefixRank rank_;
  EvictionPolicy policy_;
  std::unique_ptr<PrefixPolicy> own_;  // in the place of policy_
  std::span<const BlockArena> pools_;
  const AttentionManager& attention_;
  const StateManager& states_;
  std::int32_t attention_groups_;
  std::int64_t unit_, state_units_;
  std::vector<double> block_tokens_;          // (arena) tokens whose K and V take the memory of a block
  std::int64_t choices_ = 0;                  // of prefixes that go
  std::int64_t ended_since_ranked_ = 0;       // prefixes, since all that are kept were ranked
  std::vector<Spot> spots_;                   // (row), up to the last block that was ever looked at
  std::vector<Node> nodes_;
  std::vector<NodeId> unused_;
  std::unordered_map<PrefixKey, NodeId> index_;
  std::set<std::pair<double, NodeId>> ranked_[2];  // kept prefixes; the second queue: never used (second_chance)
  std::vector<std::deque<BlockId>> waiting_;  // (arena) what goes first
  std::deque<std::pair<NodeId, std::int64_t>> ghosts_;
  std::int64_t ghosts_made_ = 0;
  std::size_t most_ghosts_;
};

}  // namespace hybridkv
