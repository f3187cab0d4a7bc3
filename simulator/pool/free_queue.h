#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/contract.h"
#include "simulator/pool/block_id.h"
#include "simulator/pool/block_records.h"

namespace hybridkv {

/// Blocks for whose records room is set aside at once; memory that nothing is written to costs nothing.
inline constexpr std::int64_t most_reserved_blocks = std::int64_t{1} << 20;

/// The blocks nobody holds, least recently used first: a linked list threaded through their records.
///
/// The null block's own link is the ring's head, since it never queues. Blocks that were never taken stand in one row:
/// only the first of them has a link, which stands for all, so that memory grows with the blocks taken and not with the
/// pool. Where blocks come and go by large pages there is such a row at the end of each page. All operations are O(1).
/// `Records` is FlatRecords or RowRecords.
template <template <class> class Records>
class QueueOf {
 public:
  /// Blocks 1 .. num_blocks - 1 in ascending order. Pre: num_blocks >= 1.
  explicit QueueOf(std::int64_t num_blocks) : num_blocks_(num_blocks) {
    links_.reserve(static_cast<std::size_t>(std::min(num_blocks, most_reserved_blocks)));
    links_.add();
    links_.edit(null_block_id) = {null_block_id, null_block_id};
    if (num_blocks > 1) push_back(add_link());
    size_ = num_blocks - 1;
    if (num_blocks > 2) row_ = 1;
  }
  /// Of blocks that come and go by large pages of so many; there is none yet.
  static QueueOf of_pages(std::int64_t blocks_per_page) {
    QueueOf queue(1);
    queue.page_blocks_ = static_cast<BlockId>(blocks_per_page);
    return queue;
  }

  std::int64_t size() const { return size_; }
  /// Blocks that have a link, the null block among them: all that were ever in other hands, and the first that was not;
  /// with large pages all up to the last page.
  std::int64_t num_linked() const { return static_cast<std::int64_t>(links_.size()); }
  /// One past the last block that a block of the queue stands for.
  BlockId end_of_row(BlockId block) const {
    if (block == row_) return static_cast<BlockId>(num_blocks_);
    return heads_page_row(block) ? (block / page_blocks_ + 1) * page_blocks_ : block + 1;
  }
  BlockId front() const { return links_[null_block_id].next; }
  /// Neighbours of a block in the queue, the null block at its ends.
  BlockId next(BlockId block) const { return links_[block].next; }
  BlockId previous(BlockId block) const { return links_[block].previous; }
  bool contains(BlockId block) const {
    if (block >= links_.size()) return block < num_blocks_;
    return links_[block].next != outside || (has_pages() && page_row(block) < block);
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

  /// Pre: contains(block), and no other block stands for it.
  void remove(BlockId block) {
    contract([&] { return block != null_block_id && block < links_.size() && links_[block].next != outside; },
             "a block leaves the free queue that is in it");
    --size_;
    if (block == row_ || heads_page_row(block)) [[unlikely]] return advance_row(block);
    unlink(block);
  }

  /// One more block than before, not yet in the queue. Returns its id. Pre: every block was taken once.
  BlockId add_block() {
    contract([&] { return links_.size() == static_cast<std::size_t>(num_blocks_); },
             "a pool grows once every block was taken");
    ++num_blocks_;
    return add_link();
  }

  /// The blocks of a large page come to the front, in ascending order.
  void add_page(BlockId first) {
    links_.extend(first + page_blocks_);
    num_blocks_ = num_linked();
    const BlockId page = first / page_blocks_;
    if (page >= page_rows_.size()) page_rows_.resize(page + 1, outside);
    if (page_blocks_ > 1) page_rows_[page] = first;
    push_front(first);
    size_ += page_blocks_ - 1;
  }
  /// The row of a large page's blocks that were never taken since it came: its first block, one past the page where
  /// there is no row.
  BlockId untouched(BlockId first_of_page) const {
    return std::min(page_row(first_of_page), first_of_page + page_blocks_);
  }
  /// A row goes to the front as it is. Pre: the block is its first.
  void move_row_to_front(BlockId block) {
    unlink(block);
    link_between(null_block_id, block, front());
  }
  /// The row of a large page leaves the queue.
  void remove_row(BlockId first_of_page) {
    const BlockId block = untouched(first_of_page), end = first_of_page + page_blocks_;
    if (block == end) return;
    unlink(block);
    size_ -= end - block;
    page_rows_[first_of_page / page_blocks_] = outside;
  }
  /// The blocks of a large page go. Pre: none is in the queue.
  void drop_page(BlockId first) { links_.clear(first, page_blocks_); }

  /// Blocks in queue order, for checks and tests.
  std::vector<BlockId> in_order() const {
    std::vector<BlockId> blocks;
    for (BlockId at = front(); at != null_block_id; at = links_[at].next)
      for (BlockId block = at; block < end_of_row(at); ++block) blocks.push_back(block);
    return blocks;
  }

 private:
  friend struct ArenaPeek;

  static constexpr BlockId outside = ~BlockId{0};
  struct Link {
    BlockId previous = outside, next = outside;
    bool operator==(const Link&) const = default;
  };

  // The first block of a page's row of those that were never taken; outside where there is no such row.
  BlockId page_row(BlockId block) const { return page_rows_[block / page_blocks_]; }
  bool heads_page_row(BlockId block) const { return has_pages() && page_row(block) == block; }
  bool has_pages() const { return Records<Link>::in_rows && page_blocks_ > 0; }

  // The next block of the row takes the place of its first. Apart from `remove`, which is called at every turn.
  [[gnu::noinline]] void advance_row(BlockId block) {
    const BlockId next = block + 1;
    BlockId& row = block == row_ ? row_ : page_rows_[block / page_blocks_];
    row = next + 1 < end_of_row(block) ? next : outside;
    if (next == links_.size()) links_.add();
    const Link link = links_[block];
    links_.edit(block) = {};
    link_between(link.previous, next, link.next);
    if constexpr (Records<Link>::in_rows)
      if (next % Records<Link>::row_blocks == 0) links_.close_if_empty(block);
  }
  BlockId add_link() {
    links_.add();
    return static_cast<BlockId>(links_.size() - 1);
  }

  void unlink(BlockId block) {
    Link& link = links_.edit(block);
    links_.edit(link.previous).next = link.next;
    links_.edit(link.next).previous = link.previous;
    link = {};
  }
  void link_between(BlockId before, BlockId block, BlockId after) {
    links_.edit(block) = {before, after};
    links_.edit(before).next = block;
    links_.edit(after).previous = block;
  }
  void insert_between(BlockId before, BlockId block, BlockId after) {
    contract([&] { return block != null_block_id && block < links_.size() && !contains(block); },
             "a block joins the free queue that is not in it");
    link_between(before, block, after);
    ++size_;
  }

  std::int64_t num_blocks_;
  Records<Link> links_;       // (blocks taken so far, and one more)
  BlockId row_ = outside;     // the first of several blocks that were never taken
  BlockId page_blocks_ = 0;   // blocks of a large page; 0: there are none
  std::vector<BlockId> page_rows_;  // (large page) the first of several of its blocks that were never taken
  std::int64_t size_ = 0;
};

using FreeQueue = QueueOf<FlatRecords>;

}  // namespace hybridkv
