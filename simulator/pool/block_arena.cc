#include "simulator/pool/block_arena.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/contract.h"

namespace hybridkv {

namespace {

// Of one block: record 16, links 8, node 16, two to four buckets of 8.
constexpr std::int64_t most_bytes_per_block = 72;
// Of the keys of tails: node 16, two to four buckets of 8.
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
      queue_(rules.ledger ? 1 : num_blocks),
      index_(0),
      unlimited_(unlimited),
      releases_in_order_(rules.releases_in_order),
      ledger_(rules.ledger),
      number_(rules.number) {
  expects(num_blocks >= 2, "a pool has a null block and at least one other");
  if (ledger_) absent_ = num_blocks - 1;
  if (rules.tail_keys) tails_.emplace(0);
  if (!ledger_) {
    const std::int64_t reserved = std::min(num_blocks, most_reserved_blocks);
    blocks_.reserve(static_cast<std::size_t>(reserved));
    index_.reserve(reserved);
    if (tails_) tails_->reserve(reserved);
  }
  know(queue_.num_linked());
}

void BlockArena::know(std::int64_t end) {
  while (num_known() < end) {
    if (num_known() >= most_known_)
      throw ResourceError(fmt::format("more than {} blocks in use at one time or another take more memory to simulate "
                                      "than this machine has; simulate fewer blocks, or fewer requests", num_known()));
    blocks_.push_back({});
    index_.add_block();
    if (tails_) tails_->add_block();
  }
  last_known_ = static_cast<BlockId>(num_known() - 1);
}

void BlockArena::hold(BlockId block) {
  contract([&] { return has(block) && is_findable(block); }, "a block that is held by a hit carries a key");
  Block& held = blocks_[block];
  if (held.references++ > 0) return;
  queue_.remove(block);
  if (ledger_) ledger_->note_held(number_, block);
  ++held_[static_cast<std::size_t>(held.kind)];
}

void BlockArena::mark_used(BlockId block) {
  contract([&] { return has(block) && index_.key(block) != 0; }, "a checkpoint that is used carries a key");
  Block& hit = blocks_[block];
  if (hit.checkpoint && !hit.used) {
    hit.used = true;
    ++stats_.checkpoints_used;
  }
}

BlockId BlockArena::take(BlockKind kind) {
  if (unlimited_ && (queue_.size() == 0 || is_findable(queue_.front()))) {
    ++num_blocks_;
    queue_.push_front(queue_.add_block());
    know(num_blocks_);
  }
  const BlockId block = chooser_ ? next_victim() : queue_.pop_front();
  // Behind the last known block begins the row of those that were never taken.
  if (block == last_known_) [[unlikely]] know(queue_.num_linked());
  if (ledger_) ledger_->note_held(number_, block);
  if (is_findable(block)) drop_key(block);
  blocks_[block] = {.references = 1, .kind = kind};
  ++held_[static_cast<std::size_t>(kind)];
  ++stats_.allocations;
  return block;
}

void BlockArena::count_findable(BlockId block, bool is_findable) {
  findable_[static_cast<std::size_t>(blocks_[block].kind)] += is_findable ? 1 : -1;
  if (ledger_) ledger_->note_findable(number_, block, is_findable);
}

BlockId BlockArena::next_victim() {
  BlockId victim = null_block_id;
  if (queue_.size() > 0 && is_findable(queue_.front())) victim = chooser_->choose(arena_);
  if (victim == null_block_id) return queue_.pop_front();
  queue_.remove(victim);
  return victim;
}

void BlockArena::drop_key(BlockId block) {
  if (chooser_) chooser_->dropped(arena_, block);
  const Block& lost = blocks_[block];
  if (host_ && index_.key(block) != 0)
    host_->note_evicted(host_arena_, lost.kind == BlockKind::state, index_.key(block));
  if (const PrefixKey key = index_.key(block); key != 0) {
    index_.erase(block);
    tell_removed(key);
  }
  if (tail_key(block) != 0) tails_->erase(block);
  count_findable(block, false);
  ++stats_.evictions;
  if (lost.checkpoint) {
    ++stats_.checkpoints_evicted;
    if (!lost.used) ++stats_.checkpoints_evicted_unused;
  }
}

void BlockArena::publish(BlockId block, PrefixKey key, std::int64_t step, bool checkpoint) {
  contract([&] { return has(block) && references(block) > 0; }, "a block that is published is held");
  Block& published = blocks_[block];
  expects(index_.key(block) == 0, "a block is published once");
  if (!is_findable(block)) count_findable(block, true);
  index_.insert(key, block);
  published.published_step = step;
  published.checkpoint = checkpoint;
  published.used = false;
  ++stats_.publications;
  if (checkpoint) ++stats_.checkpoints_made;
  if (host_) host_->note_published(host_arena_, published.kind == BlockKind::state, key);
  if (listener_) listener_->stored(key);
}

void BlockArena::publish_tail(BlockId block, PrefixKey key, std::int64_t step) {
  contract([&] { return has(block) && references(block) > 0 && tails_; }, "a block whose tail is published is held");
  Block& published = blocks_[block];
  if (!is_findable(block)) {
    count_findable(block, true);
    published.published_step = step;
  }
  if (tail_key(block) != 0) tails_->erase(block);
  tails_->insert(key, block);
  ++stats_.publications;
}

void BlockArena::forget(BlockId block) {
  contract([&] { return has(block) && references(block) > 0 && key(block) != 0 && tail_key(block) == 0; },
           "a block that is forgotten is held and carries a key");
  const PrefixKey forgotten = index_.key(block);
  index_.erase(block);
  tell_removed(forgotten);
  count_findable(block, false);
  blocks_[block].checkpoint = false;
}

void BlockArena::move_key(BlockId from, BlockId to, std::int64_t step) {
  contract([&] { return has(from) && has(to) && key(from) != 0 && !is_findable(to); },
           "a key moves to a block without one");
  Block& old = blocks_[from];
  Block& moved = blocks_[to];
  const PrefixKey key = index_.key(from);
  index_.erase(from);
  index_.insert(key, to);
  moved.published_step = step;
  moved.checkpoint = std::exchange(old.checkpoint, false);
  moved.used = std::exchange(old.used, false);
  count_findable(from, false);
  count_findable(to, true);
  if (chooser_) chooser_->moved(arena_, from, to);
}

void BlockArena::release(BlockId block, BlockId& last) {
  contract([&] { return has(block) && references(block) > 0; }, "a block that is given back is held");
  Block& released = blocks_[block];
  ++stats_.releases;
  if (--released.references > 0) return;
  --held_[static_cast<std::size_t>(released.kind)];
  if (is_findable(block)) {
    queue_.push_back(block);
    if (chooser_) chooser_->freed(arena_, block);
  } else {
    queue_.insert_after(last, block);
    if (releases_in_order_) last = block;
  }
  if (!ledger_) return;
  if (const auto emptied = ledger_->note_free(number_, block)) withdraw(emptied->first, emptied->count);
}

void BlockArena::lend(BlockId first, std::int64_t count) {
  while (queue_.num_linked() < first + count) queue_.add_block();
  know(queue_.num_linked());
  for (std::int64_t i = count; i > 0; --i) queue_.push_front(static_cast<BlockId>(first + i - 1));
  absent_ -= count;
}

void BlockArena::withdraw(BlockId first, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto block = static_cast<BlockId>(first + i);
    contract([&] { return is_free(block); }, "a block that is withdrawn is held by nobody");
    queue_.remove(block);
    if (is_findable(block)) drop_key(block);
  }
  absent_ += count;
}

void BlockArena::prefer(BlockId block) {
  contract([&] { return !is_findable(block); }, "a block that can be found is no one's first choice");
  queue_.remove(block);
  queue_.push_front(block);
}

}  // namespace hybridkv
