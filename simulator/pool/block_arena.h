#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "simulator/pool/block_id.h"
#include "simulator/pool/free_queue.h"
#include "simulator/pool/hash_index.h"
#include "simulator/pool/host_tier.h"
#include "simulator/pool/key_listener.h"
#include "simulator/pool/page_ledger.h"
#include "simulator/pool/victim_chooser.h"

namespace hybridkv {

/// What a block holds.
enum class BlockKind : std::uint8_t {
  attention,  ///< K and V of the tokens of one block
  state,      ///< a recurrent state of one group
  extra,      ///< a ring or tail of one request, never found again
};

/// What happened in an arena, or in all arenas of a cache, so far. "Operations" are look-ups, allocations, publications
/// and releases of one block.
struct BlockCounts {
  std::int64_t lookups = 0;
  std::int64_t allocations = 0;
  std::int64_t publications = 0;
  std::int64_t releases = 0;
  std::int64_t evictions = 0;                 ///< blocks taken for new use while they could still be found
  std::int64_t checkpoints_made = 0;          ///< states published, counted in the first recurrent group
  std::int64_t checkpoints_used = 0;          ///< of those, hit at least once
  std::int64_t checkpoints_evicted = 0;       ///< of those, taken for new use
  std::int64_t checkpoints_evicted_unused = 0;///< of those, never hit before
  BlockCounts& operator+=(const BlockCounts& other);
  std::int64_t operations() const { return lookups + allocations + publications + releases; }
  bool operator==(const BlockCounts&) const = default;
};

/// The blocks of one arena of a cache: reference counts, the queue of free blocks and the index of those that can be
/// found.
///
/// Rules (vLLM BlockPool): free blocks queue in least-recently-used order; a block without a key goes to the
/// front of the queue, one with a key to its end; taking a block for new use drops its key; a hit takes a block
/// out of the queue; several blocks may carry one key, a look-up gives the oldest. Block 0 is never handed out.
/// In 0.33 blocks without a key that are given back together keep their order at the front, and a block may carry a
/// second key, that of a prompt's tail which ends inside it.
/// Memory grows with the blocks that were in use at one time or another, not with the size of the arena.
class BlockArena {
 public:
  /// How the arenas of a release differ from those of June 2026.
  struct Rules {
    bool releases_in_order = false;  ///< blocks without a key given back together keep their order
    bool tail_keys = false;          ///< blocks may carry a tail's key too
    PageLedger* ledger = nullptr;    ///< that lends all blocks, by large pages; outlives the arena
    std::int64_t number = 0;         ///< the arena's in the ledger
    std::int64_t most_bytes = INT64_MAX;  ///< that what is known of blocks may take
  };
  /// `num_blocks` >= 2 counts the null block. An unlimited arena grows instead of dropping a key.
  /// Operations that make blocks known throw ResourceError where they take more memory than the rules allow.
  explicit BlockArena(std::int64_t num_blocks, bool unlimited = false);
  BlockArena(std::int64_t num_blocks, bool unlimited, const Rules& rules);

  /// From now on tells `tier`, which outlives this arena, what can be found and what goes; it knows the arena by that
  /// number.
  void tell(HostTier& tier, std::size_t arena) {
    host_ = &tier;
    host_arena_ = arena;
  }
  /// From now on asks `chooser`, which outlives this arena, which block goes; it knows the arena by that number.
  void ask(VictimChooser& chooser, std::size_t arena) {
    chooser_ = &chooser;
    arena_ = arena;
  }

  /// From now on tells `listener`, which outlives this arena, which keys can be found. Keys of tails are not told.
  void tell(KeyListener& listener) { listener_ = &listener; }

  std::int64_t num_blocks() const { return num_blocks_; }
  /// Blocks from the first on, the null block among them, of which anything is known; those behind were never in use.
  std::int64_t num_known() const { return static_cast<std::int64_t>(blocks_.size()); }
  std::int64_t num_free() const { return queue_.size(); }
  /// Blocks held by somebody, of one kind.
  std::int64_t num_held(BlockKind kind) const { return held_[static_cast<std::size_t>(kind)]; }
  std::int64_t num_held() const { return num_blocks() - 1 - num_free() - absent_; }
  /// Blocks in large pages that the arena does not have.
  std::int64_t num_absent() const { return absent_; }
  /// Blocks that can be found, held or not, of one kind.
  std::int64_t num_findable(BlockKind kind) const { return findable_[static_cast<std::size_t>(kind)]; }
  const BlockCounts& stats() const { return stats_; }
  /// Do the counts of held blocks by kind and of free ones come to all blocks but the null block?
  bool adds_up() const {
    return std::accumulate(held_.begin(), held_.end(), num_free()) + absent_ == num_blocks() - 1;
  }

  /// Can `count` more blocks be taken?
  bool has_room(std::int64_t count) const { return unlimited_ || count <= queue_.size(); }
  /// Does nobody hold the block?
  bool is_free(BlockId block) const { return blocks_[block].references == 0; }
  std::int64_t references(BlockId block) const { return blocks_[block].references; }
  BlockKind kind(BlockId block) const { return blocks_[block].kind; }
  PrefixKey key(BlockId block) const { return index_.key(block); }
  /// Key of the tail that ends inside the block, 0 = none.
  PrefixKey tail_key(BlockId block) const { return tails_ ? tails_->key(block) : 0; }
  /// Can the block be found?
  bool is_findable(BlockId block) const { return key(block) != 0 || tail_key(block) != 0; }
  /// Does any block carry that key, or that of a tail? Not counted as a look-up.
  bool carries(PrefixKey key) const { return index_.find(key) != null_block_id; }
  bool carries_tail(PrefixKey key) const { return tails_ && tails_->find(key) != null_block_id; }
  /// Step in which the block was published.
  std::int64_t published_step(BlockId block) const { return blocks_[block].published_step; }

  /// Does a block carry that key? Counts as no look-up.
  bool holds_key(PrefixKey key) const { return index_.find(key) != null_block_id; }
  /// Oldest block with that key, or the null block.
  BlockId find(PrefixKey key) {
    ++stats_.lookups;
    return index_.find(key);
  }

  /// Oldest block in which a tail with that key ends, or the null block.
  BlockId find_tail(PrefixKey key) {
    if (!tails_) return null_block_id;
    ++stats_.lookups;
    return tails_->find(key);
  }

  /// Holds a block that was found. Pre: it carries a key.
  void hold(BlockId block);
  /// Marks the checkpoint in a found block as used. Pre: it carries a key.
  void mark_used(BlockId block);
  /// Takes the block at the front of the queue, or the one chosen where that can be found. Pre: has_room(1).
  BlockId take(BlockKind kind);
  /// Makes a held block findable. Pre: it is held, and carries no key. `checkpoint`: count it among the checkpoints
  /// made.
  void publish(BlockId block, PrefixKey key, std::int64_t step, bool checkpoint);
  /// Makes a held block findable by the tail that ends inside it; one that was so already becomes the youngest of its
  /// key. Pre: it is held, the arena has tail keys.
  void publish_tail(BlockId block, PrefixKey key, std::int64_t step);
  /// A held block can no longer be found by its key; no eviction. Pre: it carries one, and no tail's.
  void forget(BlockId block);
  /// The key of one held block goes over to another, which is then the youngest of that key. Pre: only the first has
  /// one.
  void move_key(BlockId from, BlockId to, std::int64_t step);
  /// Gives back one hold; without any left the block returns to the queue. Pre: it is held.
  void release(BlockId block) {
    BlockId last = null_block_id;
    release(block, last);
  }
  /// The same of several blocks given back together; `last` begins as the null block and is the arena's.
  void release(BlockId block, BlockId& last);

  /// The arena gets `count` blocks from the first one on. Pre: it has a ledger, which has just given it their page.
  void lend(BlockId first, std::int64_t count);
  /// They go, with all that could be found in them. Pre: nobody holds one.
  void withdraw(BlockId first, std::int64_t count);
  /// The block is the next one to be taken. Pre: it is free and carries no key.
  void prefer(BlockId block);

 private:
  friend struct ArenaPeek;

  struct Block {
    std::int32_t references = 0;
    BlockKind kind = BlockKind::attention;
    bool checkpoint = false;
    bool used = false;
    std::int64_t published_step = 0;
  };

  void drop_key(BlockId block);
  void tell_removed(PrefixKey key) {
    if (listener_ && index_.find(key) == null_block_id) listener_->removed(key);
  }
  // Something is found in a block from now on, or no longer.
  void count_findable(BlockId block, bool is_findable);
  BlockId next_victim();
  bool has(BlockId block) const { return block != null_block_id && block < blocks_.size(); }
  // Makes room for the blocks below `end`.
  [[gnu::noinline]] void know(std::int64_t end);

  std::int64_t num_blocks_;
  std::int64_t most_known_;    // blocks that may be known
  std::vector<Block> blocks_;  // (blocks known)
  BlockId last_known_ = null_block_id;
  FreeQueue queue_;
  HashIndex index_;
  std::optional<HashIndex> tails_;  // where blocks may carry a second key
  HostTier* host_ = nullptr;           // told what is published and what goes
  std::size_t host_arena_ = 0;
  KeyListener* listener_ = nullptr;
  VictimChooser* chooser_ = nullptr;  // none: the front of the queue
  std::size_t arena_ = 0;             // by which it knows this arena
  bool unlimited_;
  bool releases_in_order_;
  PageLedger* ledger_;
  std::int64_t number_;      // in the ledger
  std::int64_t absent_ = 0;
  std::array<std::int64_t, 3> held_{};      // by kind
  std::array<std::int64_t, 3> findable_{};  // by kind
  BlockCounts stats_;
};

}  // namespace hybridkv
