#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/contract.h"
#include "simulator/pool/block_id.h"

namespace hybridkv {

/// Blocks for whose records room is set aside at once; memory that nothing is written to costs nothing.
inline constexpr std::int64_t most_reserved_blocks = std::int64_t{1} << 20;

/// The blocks nobody holds, least recently used first: a linked list threaded through one flat array.
///
/// The null block's own link is the ring's head, since it never queues. Blocks that were never taken stand in one row:
/// only the first of them has a link, which stands for all, so that memory grows with the blocks taken and not with the
/// pool. All operations are O(1).
class FreeQueue {
 public:
  /// Blocks 1 .. num_blocks - 1 in ascending order. Pre: num_blocks >= 1.
  explicit FreeQueue(std::int64_t num_blocks) : num_blocks_(num_blocks), links_(1, {null_block_id, null_block_id}) {
    links_.reserve(static_cast<std::size_t>(std::min(num_blocks, most_reserved_blocks)));
    if (num_blocks > 1) push_back(add_link());
    size_ = num_blocks - 1;
    if (num_blocks > 2) row_ = 1;
  }

  std::int64_t size() const { return size_; }
  /// Blocks that have a link, the null block among them: all that were ever in other hands, and the first that was not.
  std::int64_t num_linked() const { return static_cast<std::int64_t>(links_.size()); }
  /// One past the last block that a block of the queue stands for.
  BlockId end_of_row(BlockId block) const { return block == row_ ? static_cast<BlockId>(num_blocks_) : block + 1; }
  BlockId front() const { return links_[null_block_id].next; }
  /// Neighbours of a block in the queue, the null block at its ends.
  BlockId next(BlockId block) const { return links_[block].next; }
  BlockId previous(BlockId block) const { return links_[block].previous; }
  bool contains(BlockId block) const {
    return block < links_.size() ? links_[block].next != outside : block < num_blocks_;
  }

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
    --size_;
    if (block == row_) [[unlikely]] return advance_row();
    Link& link = links_[block];
    links_[link.previous].next = link.next;
    links_[link.next].previous = link.previous;
    link.next = outside;
  }

  /// One more block than before, not yet in the queue. Returns its id. Pre: every block was taken once.
  BlockId add_block() {
    contract([&] { return links_.size() == static_cast<std::size_t>(num_blocks_); },
             "a pool grows once every block was taken");
    ++num_blocks_;
    return add_link();
  }

  /// Blocks in queue order, for checks and tests.
  std::vector<BlockId> in_order() const {
    std::vector<BlockId> blocks;
    for (BlockId at = front(); at != null_block_id; at = links_[at].next)
      for (BlockId block = at; block < end_of_row(at); ++block) blocks.push_back(block);
    return blocks;
  }

 private:
  friend struct ArenaPeek;

  struct Link {
    BlockId previous, next;
  };
  static constexpr BlockId outside = ~BlockId{0};

  // The next block of the row takes the place of its first. Apart from `remove`, which is called at every turn.
  [[gnu::noinline]] void advance_row() {
    const BlockId next = row_ + 1;
    const Link link = links_[row_];
    links_[row_].next = outside;
    links_.push_back(link);
    links_[link.previous].next = next;
    links_[link.next].previous = next;
    row_ = next + 1 < num_blocks_ ? next : outside;
  }
  BlockId add_link() {
    links_.push_back({outside, outside});
    return static_cast<BlockId>(links_.size() - 1);
  }

  void insert_between(BlockId before, BlockId block, BlockId after) {
    contract([&] { return block != null_block_id && block < links_.size() && !contains(block); },
             "a block joins the free queue that is not in it");
    links_[block] = {before, after};
    links_[before].next = block;
    links_[after].previous = block;
    ++size_;
  }

  std::int64_t num_blocks_;
  std::vector<Link> links_;  // (blocks taken so far, and one more)
  BlockId row_ = outside;    // the first of several blocks that were never taken
  std::int64_t size_ = 0;
};

}  // namespace hybridkv
