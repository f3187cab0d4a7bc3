#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "simulator/pool/block_id.h"

namespace hybridkv {

class BlockArena;
struct RequestBlocks;

/// Large pages that go from pool to pool: one is split among k blocks of the pool that has it, and goes back when none
/// of them is held (Jenga's upper level).
///
/// Where a request takes blocks, in this order: free ones of its own large pages; a large page that no pool has; the
/// large page whose last block was given back longest ago, of whatever pool, with all that could still be found in it;
/// free ones in large pages of others; the one block given back longest ago. A large page that another pool of the
/// request needs is left to it.
/// Source: Jenga (arXiv 2503.18292), read. That a request's large pages are those it took, and that ages are those of
/// the last block given back, are assumptions.
///
/// Block b of a pool lies in large page b / k. Large page 0 is the null page and never handed out.
class PageLedger {
 public:
  /// `num_pages` >= 2 counts the null page. `blocks_per_page`: (pool) k.
  PageLedger(std::int64_t num_pages, std::vector<std::int64_t> blocks_per_page);

  std::int64_t num_pages() const { return num_pages_; }
  /// Large pages that no pool has: once one had it, one always has.
  std::int64_t num_free() const { return num_pages_ - std::ssize(pages_); }
  /// Large pages handed to pools so far, those taken from another included.
  std::int64_t num_given() const { return given_; }
  /// Pool that has the page; -1: none.
  std::int64_t pool_of(std::int64_t page) const {
    return page < std::ssize(pages_) ? pages_[static_cast<std::size_t>(page)].pool : -1;
  }
  /// Blocks of the page that somebody holds.
  std::int64_t held_in(std::int64_t page) const {
    return page < std::ssize(pages_) ? pages_[static_cast<std::size_t>(page)].held : 0;
  }

  /// Is there room for `demand` (pool) more blocks, found ones that nobody holds included, and for `spare` large pages
  /// beside them? `found`: those found ones, each with its pool.
  bool fits(std::span<const BlockArena> pools, std::span<const std::int64_t> demand, std::int64_t spare,
            std::span<const std::pair<std::int64_t, BlockId>> found) const;

  /// Sees to it that every pool has `demand` (pool) free blocks, in its queue's order those that the request is to take
  /// first. Pre: fits, and found blocks are held.
  void provide(std::span<BlockArena> pools, std::span<const std::int64_t> demand, RequestBlocks& request);

  /// Told by a pool: the first hold of a block was taken, the last one went.
  void note_held(std::int64_t pool, BlockId block);
  void note_free(std::int64_t pool, BlockId block);

 private:
  friend struct LedgerPeek;

  struct Page {
    std::int64_t pool = -1;
    std::int64_t held = 0;
    std::int64_t owner = 0;  // request that took it
    std::int64_t age = 0;    // when its last block was given back, or it came to the pool
  };

  std::int64_t of(std::int64_t pool, BlockId block) const {
    return static_cast<std::int64_t>(block) / blocks_per_page_[static_cast<std::size_t>(pool)];
  }
  std::int64_t first_block(std::int64_t pool, std::int64_t page) const {
    return page * blocks_per_page_[static_cast<std::size_t>(pool)];
  }
  // Large pages that a pool lacks for its demand.
  std::int64_t lacking(const BlockArena& pool, std::size_t index, std::int64_t demand) const;
  // Why a page is handed over: the pool has too few blocks, or the request would rather have them in a page of its own.
  enum class Need { blocks, own_page };
  // The idle page of the greatest age that may go to the pool; 0: there is none. To get more blocks, a page of another
  // pool may go only where that pool can do without it. To get a page of its own, a request takes one that another
  // request took, of whatever pool.
  std::int64_t oldest_idle(std::span<const BlockArena> pools, std::size_t to, std::span<const std::int64_t> demand,
                           const RequestBlocks& request, Need need) const;
  // Hands a page to a pool for the request: a free one, else an idle one. False where there is neither. Appends its
  // blocks to `first`.
  bool hand_over(std::span<BlockArena> pools, std::size_t to, std::span<const std::int64_t> demand,
                 RequestBlocks& request, Need need, std::vector<BlockId>& first);

  std::vector<std::int64_t> blocks_per_page_;       // (pool)
  std::int64_t num_pages_;
  std::vector<Page> pages_;                         // (large page), the null page and those that a pool has
  std::set<std::pair<std::int64_t, std::int64_t>> idle_;  // age and number of pages that a pool has and nobody holds
  std::vector<std::int64_t> num_idle_;              // (pool)
  std::int64_t clock_ = 0;
  std::int64_t owners_ = 0;
  std::int64_t given_ = 0;
};

}  // namespace hybridkv
