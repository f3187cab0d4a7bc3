#include "simulator/block_pool.h"

#include "base/contract.h"

namespace hybridkv {

PoolStats& PoolStats::operator+=(const PoolStats& other) {
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

BlockPool::BlockPool(std::int64_t num_blocks, bool unlimited)
    : blocks_(static_cast<std::size_t>(num_blocks)), queue_(num_blocks), index_(num_blocks), unlimited_(unlimited) {
  expects(num_blocks >= 2, "a pool has a null block and at least one other");
}

void BlockPool::hold(BlockId block) {
  contract([&] { return has(block) && index_.key(block) != 0; }, "a block that is held by a hit carries a key");
  Block& held = blocks_[block];
  if (held.references++ > 0) return;
  queue_.remove(block);
  ++held_[static_cast<std::size_t>(held.kind)];
}

void BlockPool::mark_used(BlockId block) {
  contract([&] { return has(block) && index_.key(block) != 0; }, "a checkpoint that is used carries a key");
  Block& hit = blocks_[block];
  if (hit.checkpoint && !hit.used) {
    hit.used = true;
    ++stats_.checkpoints_used;
  }
}

BlockId BlockPool::take(BlockKind kind) {
  if (unlimited_ && (queue_.size() == 0 || index_.key(queue_.front()) != 0)) {
    blocks_.push_back({});
    index_.add_block();
    queue_.push_front(queue_.add_block());
  }
  const BlockId block = queue_.pop_front();
  if (index_.key(block) != 0) drop_key(block);
  blocks_[block] = {.references = 1, .kind = kind};
  ++held_[static_cast<std::size_t>(kind)];
  ++stats_.allocations;
  return block;
}

void BlockPool::drop_key(BlockId block) {
  const Block& lost = blocks_[block];
  index_.erase(block);
  --findable_[static_cast<std::size_t>(lost.kind)];
  ++stats_.evictions;
  if (lost.checkpoint) {
    ++stats_.checkpoints_evicted;
    if (!lost.used) ++stats_.checkpoints_evicted_unused;
  }
}

void BlockPool::publish(BlockId block, PrefixKey key, std::int64_t step, bool checkpoint) {
  contract([&] { return has(block) && references(block) > 0; }, "a block that is published is held");
  Block& published = blocks_[block];
  expects(index_.key(block) == 0, "a block is published once");
  index_.insert(key, block);
  published.published_step = step;
  published.checkpoint = checkpoint;
  published.used = false;
  ++findable_[static_cast<std::size_t>(published.kind)];
  ++stats_.publications;
  if (checkpoint) ++stats_.checkpoints_made;
}

void BlockPool::release(BlockId block) {
  contract([&] { return has(block) && references(block) > 0; }, "a block that is given back is held");
  Block& released = blocks_[block];
  ++stats_.releases;
  if (--released.references > 0) return;
  --held_[static_cast<std::size_t>(released.kind)];
  if (index_.key(block) != 0) {
    queue_.push_back(block);
  } else {
    queue_.push_front(block);
  }
}

}  // namespace hybridkv
