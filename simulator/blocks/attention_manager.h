#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/blocks/cache_geometry.h"
#include "simulator/blocks/request_blocks.h"
#include "simulator/pool/block_arena.h"
#include "simulator/pool/group_keys.h"
#include "simulator/trace/chain_hash.h"

namespace hybridkv {

/// The attention groups of a cache, each with blocks of its own number of tokens, found again by their chain hash. A
/// group with a window or chunk gives back what no later token of the request sees; its table then has the null block
/// there.
class AttentionManager {
 public:
  /// What the manager knows of one attention group.
  struct Group {
    std::int64_t block;  ///< tokens
    std::int64_t units;  ///< match units of a block
    std::int64_t arena;
    BlockArena* pool;    ///< of that arena
  };
  /// Both outlive the manager. `pools`: by arena.
  AttentionManager(const CacheGeometry& geometry, std::span<BlockArena> pools);

  /// Longest run of cached blocks from the start of a prompt that ends at or before `limit` tokens: full blocks
  /// of every group first, then the longest partial tail; a length counts only if every attention group holds all its
  /// blocks up to it. A drafter drops the last step of the match. Writes the blocks into `request.attention` without
  /// holding them; returns the tokens.
  std::int64_t match(std::span<const PrefixKey> keys, std::int64_t limit, RequestBlocks& request);

  /// Forgets matched blocks behind the joint hit.
  void trim(RequestBlocks& request, std::int64_t hit_tokens) const;

  /// Gives back the blocks that no token from `computed` on sees, the latest first.
  /// Source: vLLM SingleTypeKVCacheManager.remove_skipped_blocks.
  void give_back_passed(RequestBlocks& request, std::int64_t computed);
  /// Takes the blocks that no token from `computed` on sees out of tables that were matched and are not held.
  void skip_passed(RequestBlocks& request, std::int64_t computed) const;

  /// Adds to `demand` (by arena) the found blocks that nobody holds and those to take so that `tokens` tokens have room
  /// behind a hit of `hit` tokens; a block in which the hit ends is taken anew.
  void add_first(const RequestBlocks& request, std::int64_t hit, std::int64_t tokens,
                 std::span<std::int64_t> demand) const;
  /// Adds to `demand` (by arena) the blocks that a running request takes so that `tokens` tokens have room. Any?
  bool add_next(const RequestBlocks& request, std::int64_t tokens, std::span<std::int64_t> demand) const;

  /// Holds the blocks that were found.
  void hold(const RequestBlocks& request);

  /// Takes the blocks for `tokens` tokens; a shared tail is replaced by a copy first, and added to `copied`. The number
  /// of those copies.
  std::int64_t grow(RequestBlocks& request, std::int64_t tokens, std::vector<BlockCopy>& copied);

  /// Publishes the full blocks of the first `tokens` tokens and, where they reach it, the partial tail that ends at
  /// `partial_end` (0 = none). Pre: keys reach that far.
  void publish(RequestBlocks& request, std::span<const PrefixKey> keys, std::int64_t tokens, std::int64_t partial_end,
               std::int64_t step);

  /// Gives back all blocks: groups in order, each with its last block first.
  void release(const RequestBlocks& request);

  /// Keys of the attention groups.
  const GroupKeys& group_keys() const { return group_keys_; }
  std::span<const Group> groups() const { return groups_; }

 private:
  // Groups with one block and one arena: their tables are of one length.
  struct Alike {
    std::int64_t block, arena, groups;
    std::size_t first;  // one of them
  };

  // Holds nothing; appends the blocks of every group from one length to another, both in match units, or nothing where
  // one group lacks one. Pre: every group's block ends at `from`.
  bool append_found(std::span<const PrefixKey> keys, std::int64_t from, std::int64_t to, RequestBlocks& request);
  // The same of one block a group, the first tokens of which have that key. Pre: equal_blocks_.
  bool append_row(PrefixKey key, RequestBlocks& request);
  // Calls visit(pool, block, last) for every such block, the latest of a group first, and leaves the null block in its
  // place; `last` begins as the null block in every group.
  template <class Visit>
  void take_out_passed(RequestBlocks& request, std::int64_t computed, Visit&& visit) const;

  const CacheGeometry& geometry_;
  GroupKeys group_keys_;
  std::vector<Group> groups_;
  std::vector<Alike> alike_;
  std::int64_t unit_;        // tokens of a match unit
  std::int64_t row_units_;   // match units from one end of all blocks to the next
  bool equal_blocks_;        // does every group have one block in that?
  bool partial_tails_;
  std::int64_t drop_units_;  // match units that a drafter drops, 0 without one
};

}  // namespace hybridkv
