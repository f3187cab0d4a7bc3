#include "simulator/pool/block_arena.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/contract.h"

namespace hybridkv {

namespace {

// Of one block: record 8, step 8, links 8, key 8, ring of the blocks of a key 8, two to four buckets of 8.
constexpr std::int64_t most_bytes_per_block = 72;
// Of the keys of tails: key 8, ring 8, two to four buckets of 8.
constexpr std::int64_t most_bytes_per_tail = 48;

}  // namespace

BlockCounts& BlockCounts::operator+=(const BlockCounts& other) {
  lookups += other.lookups;
  allocations += other.allocations;
  publications += other.publications;
  releases += other.releases;
  evictions += other.evictions;
  checkpoints_made += other.checkpoints_made;
  checkpoints_used += other.checkpoints_used;
  checkpoints_evicted += other.checkpoints_evicted;
  checkpoints_evicted_unused += other.checkpoints_evicted_unused;
  return *this;
}

BlockArena::BlockArena(std::int64_t num_blocks, bool unlimited) : BlockArena(num_blocks, unlimited, Rules{}) {}

BlockArena::BlockArena(std::int64_t num_blocks, bool unlimited, const Rules& rules)
    : num_blocks_(num_blocks),
      most_known_(rules.most_bytes / (most_bytes_per_block + (rules.tail_keys ? most_bytes_per_tail : 0))),
      known_blocks_(Known<FlatRecords>(FreeQueue(unlimited || rules.ledger ? 1 : num_blocks))),
      unlimited_(unlimited),
      releases_in_order_(rules.releases_in_order),
      ledger_(rules.ledger),
      number_(rules.number) {
  expects(num_blocks >= 2, "a pool has a null block and at least one other");
  if (ledger_) {
    absent_ = num_blocks - 1;
    known_blocks_.emplace<Known<RowRecords>>(QueueOf<RowRecords>::of_pages(ledger_->blocks_per_page(number_)));
  } else if (unlimited_) {
    known_blocks_.emplace<Known<RowRecords>>(QueueOf<RowRecords>(num_blocks));
  }
  if (rules.tail_keys) tails_.emplace(0);
  with([&](auto& own) {
    const std::int64_t reserved = std::min(num_blocks, most_reserved_blocks);
    own.blocks.reserve(static_cast<std::size_t>(reserved));
    own.index.reserve(reserved);
    know(own, own.queue.num_linked());
  });
}

void BlockArena::know(auto& own, std::int64_t end) {
  for (; known_ < end; ++known_) {
    require_memory(known_ + 1);
    own.blocks.add();
    own.index.add_block();
    steps_.add();
    if (tails_) tails_->add_block();
  }
  last_known_ = static_cast<BlockId>(known_ - 1);
}

void BlockArena::require_memory(std::int64_t known) const {
  if (known > most_known_)
    throw ResourceError(fmt::format("more than {} blocks in use at one time or another take more memory to simulate "
                                    "than this machine has; simulate fewer blocks, or fewer requests", most_known_));
}

void BlockArena::hold(BlockId block) {
  contract([&] { return has(block) && is_findable(block); }, "a block that is held by a hit carries a key");
  with([&](auto& own) {
    Block& held = own.blocks.edit(block);
    if (held.references++ > 0) return;
    if (unlimited_) --resting_;
    else own.queue.remove(block);
    if (ledger_) ledger_->note_held(number_, block);
    ++held_[static_cast<std::size_t>(held.kind)];
  });
}

void BlockArena::mark_used(BlockId block) {
  contract([&] { return has(block) && key(block) != 0; }, "a checkpoint that is used carries a key");
  with([&](auto& own) {
    if (const Block hit = own.blocks[block]; !hit.checkpoint || hit.used) return;
    own.blocks.edit(block).used = true;
    ++stats_.checkpoints_used;
  });
}

BlockId BlockArena::take(BlockKind kind) {
  return with([&](auto& own) {
    const BlockId block = unlimited_ && own.queue.size() == 0 ? add_block(own)
                          : chooser_                          ? next_victim(own)
                                                              : own.queue.pop_front();
    // Behind the last known block begins the row of those that were never taken.
    if (block == last_known_) [[unlikely]] know(own, own.queue.num_linked());
    if constexpr (std::remove_reference_t<decltype(own)>::in_rows)
      if (ledger_) {
        ledger_->note_held(number_, block);
        require_memory(static_cast<std::int64_t>(own.blocks.num_kept()));
      }
    if (can_find(own, block)) drop_key(own, block);
    own.blocks.edit(block) = {.references = 1, .kind = kind};
    if (kind == BlockKind::state) note_step(block, 0);
    ++held_[static_cast<std::size_t>(kind)];
    ++stats_.allocations;
    return block;
  });
}

BlockId BlockArena::add_block(auto& own) {
  ++num_blocks_;
  const BlockId block = own.queue.add_block();
  know(own, num_blocks_);
  return block;
}

void BlockArena::count_findable(const auto& own, BlockId block, bool is_findable) {
  findable_[static_cast<std::size_t>(own.blocks[block].kind)] += is_findable ? 1 : -1;
  if (ledger_) ledger_->note_findable(number_, block, is_findable);
}

BlockId BlockArena::next_victim(auto& own) {
  BlockId victim = null_block_id;
  if (own.queue.size() > 0 && can_find(own, own.queue.front())) victim = chooser_->choose(arena_);
  if (victim == null_block_id) return own.queue.pop_front();
  own.queue.remove(victim);
  return victim;
}

void BlockArena::drop_key(auto& own, BlockId block) {
  if (chooser_) chooser_->dropped(arena_, block);
  const Block& lost = own.blocks[block];
  const PrefixKey key = own.index.key(block);
  if (host_ && key != 0) host_->note_evicted(host_arena_, lost.kind == BlockKind::state, key);
  if (key != 0) {
    own.index.erase(block);
    tell_removed(own, key);
  }
  if (tail_key(block) != 0) tails_->erase(block);
  count_findable(own, block, false);
  ++stats_.evictions;
  if (lost.checkpoint) {
    ++stats_.checkpoints_evicted;
    if (!lost.used) ++stats_.checkpoints_evicted_unused;
  }
}

void BlockArena::publish(BlockId block, PrefixKey key, std::int64_t step, bool checkpoint) {
  contract([&] { return has(block) && references(block) > 0; }, "a block that is published is held");
  const BlockKind kind = with([&](auto& own) {
    expects(own.index.key(block) == 0, "a block is published once");
    if (!can_find(own, block)) count_findable(own, block, true);
    own.index.insert(key, block);
    Block& published = own.blocks.edit(block);
    published.checkpoint = checkpoint;
    published.used = false;
    return published.kind;
  });
  if (kind == BlockKind::state) note_step(block, step);
  ++stats_.publications;
  if (checkpoint) ++stats_.checkpoints_made;
  if (host_) host_->note_published(host_arena_, kind == BlockKind::state, key);
  if (listener_) listener_->stored(key);
}

void BlockArena::publish_tail(BlockId block, PrefixKey key, std::int64_t step) {
  contract([&] { return has(block) && references(block) > 0 && tails_; }, "a block whose tail is published is held");
  if (!is_findable(block)) {
    with([&](const auto& own) { count_findable(own, block, true); });
    if (kind(block) == BlockKind::state) note_step(block, step);
  }
  if (tail_key(block) != 0) tails_->erase(block);
  tails_->insert(key, block);
  ++stats_.publications;
}

void BlockArena::forget(BlockId block) {
  contract([&] { return has(block) && references(block) > 0 && key(block) != 0 && tail_key(block) == 0; },
           "a block that is forgotten is held and carries a key");
  with([&](auto& own) {
    const PrefixKey forgotten = own.index.key(block);
    own.index.erase(block);
    tell_removed(own, forgotten);
    count_findable(own, block, false);
    own.blocks.edit(block).checkpoint = false;
  });
}

void BlockArena::move_key(BlockId from, BlockId to, std::int64_t step) {
  contract([&] { return has(from) && has(to) && key(from) != 0 && !is_findable(to); },
           "a key moves to a block without one");
  with([&](auto& own) {
    Block& old = own.blocks.edit(from);
    Block& moved = own.blocks.edit(to);
    const PrefixKey key = own.index.key(from);
    own.index.erase(from);
    own.index.insert(key, to);
    if (moved.kind == BlockKind::state) note_step(to, step);
    moved.checkpoint = std::exchange(old.checkpoint, false);
    moved.used = std::exchange(old.used, false);
    count_findable(own, from, false);
    count_findable(own, to, true);
  });
  if (chooser_) chooser_->moved(arena_, from, to);
}

void BlockArena::release(BlockId block, BlockId& last) {
  contract([&] { return has(block) && references(block) > 0; }, "a block that is given back is held");
  ++stats_.releases;
  const bool is_last = with([&](auto& own) {
    Block& released = own.blocks.edit(block);
    if (--released.references > 0) return false;
    --held_[static_cast<std::size_t>(released.kind)];
    rest(own, block, last);
    return true;
  });
  if (!is_last || !ledger_) return;
  if (const auto emptied = ledger_->note_free(number_, block)) withdraw(*emptied);
}

void BlockArena::rest(auto& own, BlockId block, BlockId& last) {
  if (!can_find(own, block)) {
    own.queue.insert_after(last, block);
    if (releases_in_order_) last = block;
    return;
  }
  if constexpr (std::remove_reference_t<decltype(own)>::in_rows)
    if (unlimited_) {
      ++resting_;
      own.blocks.close_if_empty(block);
      return;
    }
  own.queue.push_back(block);
  if (chooser_) chooser_->freed(arena_, block);
}

void BlockArena::lend(const LargePageBlocks& blocks) {
  auto& own = *std::get_if<Known<RowRecords>>(&known_blocks_);
  own.queue.add_page(blocks.first);
  known_ = own.queue.num_linked();
  const auto end = static_cast<std::size_t>(known_);
  own.blocks.extend(end);
  own.index.extend(end);
  steps_.extend(end);
  if (tails_) tails_->extend(end);
  last_known_ = static_cast<BlockId>(known_ - 1);
  absent_ -= blocks.count;
}

void BlockArena::withdraw(const LargePageBlocks& blocks) {
  auto& own = *std::get_if<Known<RowRecords>>(&known_blocks_);
  // Of those that were never taken since the page came nothing is known.
  const BlockId end = untouched(blocks);
  own.queue.remove_row(blocks.first);
  for (BlockId block = blocks.first; block < end; ++block) {
    contract([&] { return is_free(block); }, "a block that is withdrawn is held by nobody");
    own.queue.remove(block);
    if (is_findable(block)) drop_key(own, block);
  }
  own.queue.drop_page(blocks.first);
  const auto count = static_cast<std::size_t>(blocks.count);
  own.blocks.clear(blocks.first, count);
  own.index.clear(blocks.first, count);
  steps_.clear(blocks.first, count);
  if (tails_) tails_->clear(blocks.first, count);
  absent_ += blocks.count;
}

void BlockArena::prefer(const LargePageBlocks& blocks) {
  contract([&] { return !is_findable(blocks.first); }, "a block that can be found is no one's first choice");
  with([&](auto& own) {
    if (blocks.count > 1 && own.queue.end_of_row(blocks.first) == blocks.first + blocks.count)
      return own.queue.move_row_to_front(blocks.first);
    BlockId before = null_block_id;
    for (BlockId block = blocks.first; block < blocks.first + blocks.count; before = block++) {
      own.queue.remove(block);
      own.queue.insert_after(before, block);
    }
  });
}

}  // namespace hybridkv
