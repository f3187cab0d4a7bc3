#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "simulator/pool/block_id.h"
#include "simulator/pool/block_records.h"
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
/// Memory grows with the blocks that were in use at one time or another, not with the size of the arena; of large pages
/// that come and go, with those in use since their page came. An arena that never drops a key remembers of a block that
/// nobody holds its key alone.
class BlockArena {
  struct Block {
    std::int32_t references = 0;
    BlockKind kind = BlockKind::attention;
    bool checkpoint = false;
    bool used = false;
    bool operator==(const Block&) const = default;
  };

  /// What is known of each block. Records lie flat where nearly all blocks are in use. They lie in rows where large
  /// pages come and go, and in an arena that never drops a key, which needs little more than the keys of most blocks.
  template <template <class> class Records>
  struct Known {
    static constexpr bool in_rows = Records<Block>::in_rows;
    explicit Known(QueueOf<Records> of) : queue(std::move(of)), index(0) {}
    Records<Block> blocks;  // (blocks known)
    QueueOf<Records> queue;
    IndexOf<std::conditional_t<in_rows, RowKeys, FlatKeys>> index;
  };

  // Calls `use` with what is known of each block. A call asks once how the records lie, not at every record.
  template <class Use>
  decltype(auto) with(Use&& use) {
    if (auto* const flat = std::get_if<Known<FlatRecords>>(&known_blocks_)) [[likely]] return use(*flat);
    return use(*std::get_if<Known<RowRecords>>(&known_blocks_));
  }
  template <class Use>
  decltype(auto) with(Use&& use) const {
    if (auto* const flat = std::get_if<Known<FlatRecords>>(&known_blocks_)) [[likely]] return use(*flat);
    return use(*std::get_if<Known<RowRecords>>(&known_blocks_));
  }

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
  std::int64_t num_known() const { return known_; }
  std::int64_t num_free() const { return queued() + resting_; }
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
  bool has_room(std::int64_t count) const { return unlimited_ || count <= queued(); }
  /// Does nobody hold the block?
  bool is_free(BlockId block) const { return references(block) == 0; }
  std::int64_t references(BlockId block) const {
    return with([&](const auto& own) { return own.blocks[block].references; });
  }
  BlockKind kind(BlockId block) const {
    return with([&](const auto& own) { return own.blocks[block].kind; });
  }
  PrefixKey key(BlockId block) const {
    return with([&](const auto& own) { return own.index.key(block); });
  }
  /// Key of the tail that ends inside the block, 0 = none.
  PrefixKey tail_key(BlockId block) const { return tails_ ? tails_->key(block) : 0; }
  /// Can the block be found?
  bool is_findable(BlockId block) const { return key(block) != 0 || tail_key(block) != 0; }
  /// Does any block carry that key, or that of a tail? Not counted as a look-up.
  bool carries(PrefixKey key) const { return oldest(key) != null_block_id; }
  bool carries_tail(PrefixKey key) const { return tails_ && tails_->find(key) != null_block_id; }
  /// Step in which the state in a block was published. Pre: it holds a state.
  std::int64_t published_step(BlockId block) const { return steps_[block]; }

  /// Does a block carry that key? Counts as no look-up.
  bool holds_key(PrefixKey key) const { return oldest(key) != null_block_id; }
  /// Oldest block with that key, or the null block.
  BlockId find(PrefixKey key) {
    ++stats_.lookups;
    return oldest(key);
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

  /// The arena gets the blocks of a large page. Pre: it has a ledger, which has just given it the page.
  void lend(const LargePageBlocks& blocks);
  /// They go, with all that could be found in them. Pre: nobody holds one.
  void withdraw(const LargePageBlocks& blocks);
  /// The first block of a large page that was never taken since the page came, behind which none was; one past the page
  /// where there is none or only one.
  BlockId untouched(const LargePageBlocks& page) const {
    return with([&](const auto& own) { return own.queue.untouched(page.first); });
  }
  /// These blocks are the next ones to be taken. Pre: they are free and carry no key, and those of them that were never
  /// taken since their page came are the first of those.
  void prefer(const LargePageBlocks& blocks);

 private:
  friend struct ArenaPeek;

  std::int64_t queued() const {
    return with([](const auto& own) { return own.queue.size(); });
  }
  BlockId oldest(PrefixKey key) const {
    return with([&](const auto& own) { return own.index.find(key); });
  }

  // Parts of the operations, of the records `own`.
  bool can_find(const auto& own, BlockId block) const { return own.index.key(block) != 0 || tail_key(block) != 0; }
  void drop_key(auto& own, BlockId block);
  void tell_removed(const auto& own, PrefixKey key) {
    if (listener_ && own.index.find(key) == null_block_id) listener_->removed(key);
  }
  // Something is found in a block from now on, or no longer.
  void count_findable(const auto& own, BlockId block, bool is_findable);
  BlockId next_victim(auto& own);
  // One more block than before, of an unlimited arena in which none is free without a key.
  BlockId add_block(auto& own);
  // The last holder of a block has gone.
  void rest(auto& own, BlockId block, BlockId& last);
  void note_step(BlockId block, std::int64_t step) {
    if (steps_[block] != step) steps_.edit(block) = step;
  }
  bool has(BlockId block) const { return block != null_block_id && block < known_; }
  // Makes room for the blocks below `end`.
  [[gnu::noinline]] void know(auto& own, std::int64_t end);
  // Pre: so many blocks are known or will be.
  void require_memory(std::int64_t known) const;

  std::int64_t num_blocks_;
  std::int64_t most_known_;  // blocks that may be known
  std::int64_t known_ = 0;
  std::variant<Known<FlatRecords>, Known<RowRecords>> known_blocks_;
  RowRecords<std::int64_t> steps_;  // (blocks known) in which the states in them were published
  BlockId last_known_ = null_block_id;
  std::optional<IndexOf<RowKeys>> tails_;  // where blocks may carry a second key
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
  std::int64_t resting_ = 0;  // of an unlimited arena: free blocks with a key, which need no place in the queue
  std::array<std::int64_t, 3> held_{};      // by kind
  std::array<std::int64_t, 3> findable_{};  // by kind
  BlockCounts stats_;
};

}  // namespace hybridkv
