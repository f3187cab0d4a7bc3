#pragma once

#include <cstdint>
#include <vector>

#include "base/contract.h"
#include "simulator/block_id.h"

namespace hybridkv {

/// The blocks nobody holds, least recently used first: a linked list threaded through one flat array.
///
/// The null block's own link is the ring's head, since it never queues. All operations are O(1).
class FreeQueue {
 public:
  /// Blocks 1 .. num_blocks - 1 in ascending order.
  explicit FreeQueue(std::int64_t num_blocks) : links_(1, {null_block_id, null_block_id}) {
    links_.reserve(static_cast<std::size_t>(num_blocks));
    for (std::int64_t id = 1; id < num_blocks; ++id) push_back(add_block());
  }

  std::int64_t size() const { return size_; }
  BlockId front() const { return links_[null_block_id].next; }
  /// Neighbours of a block in the queue, the null block at its ends.
  BlockId next(BlockId block) const { return links_[block].next; }
  BlockId previous(BlockId block) const { return links_[block].previous; }
  bool contains(BlockId block) const { return links_[block].next != outside; }

  /// Pre: not empty.
  BlockId pop_front() {
    const BlockId block = front();
    expects(block != null_block_id, "a block is taken from a free queue that holds one");
    remove(block);
    return block;
  }
  void push_front(BlockId block) { insert_after(null_block_id, block); }
  /// Behind another block of the queue; behind the null block is the front.
  void insert_after(BlockId before, BlockId block) { insert_between(before, block, links_[before].next); }
  void push_back(BlockId block) { insert_between(links_[null_block_id].previous, block, null_block_id); }

  /// Pre: contains(block).
  void remove(BlockId block) {
    contract([&] { return block != null_block_id && block < links_.size() && contains(block); },
             "a block leaves the free queue that is in it");
    Link& link = links_[block];
    links_[link.previous].next = link.next;
    links_[link.next].previous = link.previous;
    link.next = outside;
    --size_;
  }

  /// One more block than before, not yet in the queue. Returns its id.
  BlockId add_block() {
    links_.push_back({outside, outside});
    return static_cast<BlockId>(links_.size() - 1);
  }

  /// Blocks in queue order, for checks and tests.
  std::vector<BlockId> in_order() const {
    std::vector<BlockId> blocks;
    for (BlockId at = front(); at != null_block_id; at = links_[at].next) blocks.push_back(at);
    return blocks;
  }

 private:
  friend struct PoolPeek;

  struct Link {
    BlockId previous, next;
  };
  static constexpr BlockId outside = ~BlockId{0};

  void insert_between(BlockId before, BlockId block, BlockId after) {
    contract([&] { return block != null_block_id && block < links_.size() && !contains(block); },
             "a block joins the free queue that is not in it");
    links_[block] = {before, after};
    links_[before].next = block;
    links_[after].previous = block;
    ++size_;
  }

  std::vector<Link> links_;  // (blocks)
  std::int64_t size_ = 0;
};

}  // namespace hybridkv
