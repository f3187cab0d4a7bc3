#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "simulator/pool/block_id.h"

namespace hybridkv {

class BlockArena;
struct RequestBlocks;

/// Large pages that go from pool to pool: one is split among k blocks of the pool that has it (Jenga's upper level).
///
/// A large page is used while somebody holds one of its blocks, empty when nothing is found in any of them, and
/// evictable when something is found in all. An empty one goes back at once. One in which some are empty and something
/// is found in the others is neither, even where nobody uses it: it serves its own pool alone.
///
/// Where a request takes blocks, in this order: free ones of its own large pages; a large page that no pool has; the
/// evictable large page used last longest ago, of whatever pool, with all that could still be found in it; free ones in
/// large pages of others; the one block used last longest ago. A large page that another pool of the request needs is
/// left to it.
/// Source: Jenga (arXiv 2503.18292), read. That a request's large pages are those it took is an assumption, and so is
/// that before it waits for ever a request that nobody runs beside takes large pages that are neither empty nor
/// evictable, as if they were: of that the paper says nothing.
///
/// Block b of a pool lies in large page b / k. Large page 0 is the null page and never handed out.
class PageLedger {
 public:
  /// `num_pages` >= 2 counts the null page. `blocks_per_page`: (pool) k.
  PageLedger(std::int64_t num_pages, std::vector<std::int64_t> blocks_per_page);

  std::int64_t num_pages() const { return num_pages_; }
  /// Large pages that no pool has.
  std::int64_t num_free() const { return num_pages_ - std::ssize(pages_) + std::ssize(returned_); }
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

  /// Blocks of all pools that somebody holds.
  std::int64_t num_held() const { return held_; }

  /// Is there room for `demand` (pool) more blocks, found ones that nobody holds included, and for `spare` large pages
  /// beside them? `found`: those found ones, each with its pool. `alone`: a request takes whatever nobody uses.
  bool fits(std::span<const BlockArena> pools, std::span<const std::int64_t> demand, std::int64_t spare,
            std::span<const std::pair<std::int64_t, BlockId>> found, bool alone = false) const;

  /// Sees to it that every pool has `demand` (pool) free blocks, in its queue's order those that the request is to take
  /// first. Pre: fits, and found blocks are held.
  void provide(std::span<BlockArena> pools, std::span<const std::int64_t> demand, RequestBlocks& request,
               bool alone = false);

  /// The blocks of a large page.
  struct BlocksOfPage {
    BlockId first = null_block_id;
    std::int64_t count = 0;
  };
  /// Told by a pool: the first hold of a block was taken.
  void note_held(std::int64_t pool, BlockId block);
  /// The last one went. Where the large page is empty now, no pool has it any more, and the pool gives up these blocks.
  std::optional<BlocksOfPage> note_free(std::int64_t pool, BlockId block);
  /// Something is found in a block from now on, or no longer.
  void note_findable(std::int64_t pool, BlockId block, bool is_findable);

 private:
  friend struct LedgerPeek;

  struct Page {
    std::int64_t pool = -1;
    std::int64_t held = 0;      // blocks that somebody holds
    std::int64_t findable = 0;  // blocks in which something is found
    std::int64_t owner = 0;     // request that took it
    std::int64_t age = 0;       // when one of its blocks was last given back, or it came to the pool
  };
  using Ages = std::set<std::pair<std::int64_t, std::int64_t>>;  // age and number of large pages

  std::int64_t of(std::int64_t pool, BlockId block) const {
    return static_cast<std::int64_t>(block) / blocks_per_page_[static_cast<std::size_t>(pool)];
  }
  std::int64_t first_block(std::int64_t pool, std::int64_t page) const {
    return page * blocks_per_page_[static_cast<std::size_t>(pool)];
  }
  bool is_evictable(const Page& page) const {
    return page.held == 0 && page.findable == blocks_per_page_[static_cast<std::size_t>(page.pool)];
  }
  // Large pages that a pool has and nobody uses: the evictable ones, and the others.
  Ages& unused(const Page& page) { return is_evictable(page) ? idle_ : mixed_; }
  std::vector<std::int64_t>& num_unused(const Page& page) { return is_evictable(page) ? num_idle_ : num_mixed_; }
  void add_unused(std::int64_t page);
  void take_unused(std::int64_t page);
  // Large pages that a pool lacks for its demand.
  std::int64_t lacking(const BlockArena& pool, std::size_t index, std::int64_t demand) const;
  // Why a page is handed over: the pool has too few blocks, or the request would rather have them in a page of its own.
  enum class Need { blocks, own_page };
  // The page of the greatest age, of those given, that may go to the pool; 0: there is none. To get more blocks, a page
  // of another pool may go only where that pool can do without it. To get a page of its own, a request takes one that
  // another request took, of whatever pool.
  std::int64_t oldest_of(const Ages& ages, std::span<const BlockArena> pools, std::size_t to,
                         std::span<const std::int64_t> demand, const RequestBlocks& request, Need need) const;
  // A page that no pool has.
  std::int64_t take_free();
  // Hands a page to a pool for the request: a free one, else an evictable one, for a request that is alone else one
  // that nobody uses. False where there is none. Appends its blocks to `first`.
  bool hand_over(std::span<BlockArena> pools, std::size_t to, std::span<const std::int64_t> demand,
                 RequestBlocks& request, Need need, bool alone, std::vector<BlockId>& first);

  std::vector<std::int64_t> blocks_per_page_;       // (pool)
  std::int64_t num_pages_;
  std::vector<Page> pages_;                         // (large page), the null page and those that a pool has or had
  std::vector<std::int64_t> returned_;              // large pages that a pool had and none has
  Ages idle_;                                       // evictable ones
  Ages mixed_;                                      // that a pool has, nobody uses, and that are not evictable
  std::vector<std::int64_t> num_idle_, num_mixed_;  // (pool)
  std::int64_t held_ = 0;
  std::int64_t clock_ = 0;
  std::int64_t owners_ = 0;
  std::int64_t given_ = 0;
};

}  // namespace hybridkv
