#include "simulator/pool/page_ledger.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "base/checked.h"
#include "base/contract.h"
#include "simulator/blocks/request_blocks.h"
#include "simulator/pool/block_arena.h"

namespace hybridkv {

PageLedger::PageLedger(std::int64_t num_pages, std::vector<std::int64_t> blocks_per_page)
    : blocks_per_page_(std::move(blocks_per_page)),
      num_pages_(num_pages),
      pages_(1),
      num_idle_(blocks_per_page_.size()),
      num_mixed_(blocks_per_page_.size()) {
  expects(num_pages >= 2, "there is a null page and at least one other");
}

std::int64_t PageLedger::lacking(const BlockArena& pool, std::size_t index, std::int64_t demand) const {
  return ceil_div(std::max<std::int64_t>(0, demand - pool.num_free()), blocks_per_page_[index]);
}

bool PageLedger::fits(std::span<const BlockArena> pools, std::span<const std::int64_t> demand, std::int64_t spare,
                      std::span<const std::pair<std::int64_t, BlockId>> found, bool alone) const {
  std::set<std::int64_t> kept;  // pages that nobody uses and that will be held
  std::vector<std::int64_t> can_go = num_idle_;
  if (alone) std::transform(can_go.begin(), can_go.end(), num_mixed_.begin(), can_go.begin(), std::plus<>());
  for (const auto& [pool, block] : found) {
    const std::int64_t page = of(pool, block);
    if (held_in(page) > 0 || !kept.insert(page).second) continue;
    if (alone || is_evictable(pages_[static_cast<std::size_t>(page)])) --can_go[static_cast<std::size_t>(pool)];
  }
  std::int64_t room = num_free() - spare;
  for (std::size_t pool = 0; pool < pools.size(); ++pool) {
    room -= lacking(pools[pool], pool, demand[pool]);
    const std::int64_t beyond = std::max<std::int64_t>(0, pools[pool].num_free() - demand[pool]);
    room += std::min(can_go[pool], beyond / blocks_per_page_[pool]);
  }
  return room >= 0;
}

void PageLedger::add_unused(std::int64_t page) {
  const Page& added = pages_[static_cast<std::size_t>(page)];
  unused(added).insert({added.age, page});
  ++num_unused(added)[static_cast<std::size_t>(added.pool)];
}

void PageLedger::take_unused(std::int64_t page) {
  const Page& taken = pages_[static_cast<std::size_t>(page)];
  unused(taken).erase({taken.age, page});
  --num_unused(taken)[static_cast<std::size_t>(taken.pool)];
}

std::int64_t PageLedger::oldest_of(const Ages& ages, std::span<const BlockArena> pools, std::size_t to,
                                   std::span<const std::int64_t> demand, const RequestBlocks& request,
                                   Need need) const {
  for (const auto& [age, page] : ages) {
    const Page& idle = pages_[static_cast<std::size_t>(page)];
    const auto pool = static_cast<std::size_t>(idle.pool);
    if (need == Need::own_page && idle.owner == request.owner) continue;
    if (pool == to ? need == Need::own_page : pools[pool].num_free() - blocks_per_page_[pool] >= demand[pool])
      return page;
  }
  return 0;
}

std::int64_t PageLedger::take_free() {
  if (returned_.empty()) {
    pages_.emplace_back();
    return std::ssize(pages_) - 1;
  }
  const std::int64_t page = returned_.back();
  returned_.pop_back();
  return page;
}

bool PageLedger::hand_over(std::span<BlockArena> pools, std::size_t to, std::span<const std::int64_t> demand,
                           RequestBlocks& request, Need need, bool alone, std::vector<BlockId>& first) {
  std::int64_t page = 0;
  if (num_free() > 0) {
    page = take_free();
  } else {
    page = oldest_of(idle_, pools, to, demand, request, need);
    if (page == 0 && alone) page = oldest_of(mixed_, pools, to, demand, request, need);
    if (page == 0) return false;
    take_unused(page);
    const std::int64_t from = pages_[static_cast<std::size_t>(page)].pool;
    pools[static_cast<std::size_t>(from)].withdraw(static_cast<BlockId>(first_block(from, page)),
                                                   blocks_per_page_[static_cast<std::size_t>(from)]);
  }
  pages_[static_cast<std::size_t>(page)] = {.pool = static_cast<std::int64_t>(to), .owner = request.owner,
                                            .age = ++clock_};
  add_unused(page);
  ++given_;
  const std::int64_t begin = first_block(static_cast<std::int64_t>(to), page);
  pools[to].lend(static_cast<BlockId>(begin), blocks_per_page_[to]);
  for (std::int64_t block = begin; block < begin + blocks_per_page_[to]; ++block)
    first.push_back(static_cast<BlockId>(block));
  request.large_pages.push_back(page);
  return true;
}

void PageLedger::provide(std::span<BlockArena> pools, std::span<const std::int64_t> demand, RequestBlocks& request,
                         bool alone) {
  if (request.owner == 0) request.owner = ++owners_;
  std::vector<std::vector<BlockId>> first(pools.size());
  // Its own pages first: they must not go while others look for pages.
  std::erase_if(request.large_pages, [&](std::int64_t page) {
    const Page& own = pages_[static_cast<std::size_t>(page)];
    if (own.owner != request.owner) return true;
    const auto pool = static_cast<std::size_t>(own.pool);
    if (own.held == blocks_per_page_[pool]) return false;
    const std::int64_t begin = first_block(own.pool, page);
    for (std::int64_t block = begin; block < begin + blocks_per_page_[pool]; ++block)
      if (std::ssize(first[pool]) < demand[pool] && pools[pool].is_free(static_cast<BlockId>(block)) &&
          !pools[pool].is_findable(static_cast<BlockId>(block)))
        first[pool].push_back(static_cast<BlockId>(block));
    return false;
  });
  for (std::size_t pool = 0; pool < pools.size(); ++pool)
    for (std::int64_t missing = lacking(pools[pool], pool, demand[pool]); missing > 0; --missing)
      expects(hand_over(pools, pool, demand, request, Need::blocks, alone, first[pool]),
              "large pages that fit are there");
  for (std::size_t pool = 0; pool < pools.size(); ++pool) {
    while (std::ssize(first[pool]) < demand[pool] &&
           hand_over(pools, pool, demand, request, Need::own_page, alone, first[pool])) {
    }
    // A page of its own that the request can do without here may have gone to another pool.
    for (auto block = first[pool].rbegin(); block != first[pool].rend(); ++block)
      if (pool_of(of(static_cast<std::int64_t>(pool), *block)) == static_cast<std::int64_t>(pool))
        pools[pool].prefer(*block);
  }
}

void PageLedger::note_held(std::int64_t pool, BlockId block) {
  const std::int64_t page = of(pool, block);
  Page& held = pages_[static_cast<std::size_t>(page)];
  contract([&] { return held.pool == pool; }, "a block is held in a large page that its pool has");
  ++held_;
  if (held.held == 0) take_unused(page);
  ++held.held;
}

std::optional<PageLedger::BlocksOfPage> PageLedger::note_free(std::int64_t pool, BlockId block) {
  const std::int64_t page = of(pool, block);
  Page& freed = pages_[static_cast<std::size_t>(page)];
  freed.age = ++clock_;
  --held_;
  if (--freed.held > 0) return std::nullopt;
  if (freed.findable > 0) {
    add_unused(page);
    return std::nullopt;
  }
  freed = {};
  returned_.push_back(page);
  return BlocksOfPage{static_cast<BlockId>(first_block(pool, page)), blocks_per_page_[static_cast<std::size_t>(pool)]};
}

void PageLedger::note_findable(std::int64_t pool, BlockId block, bool is_findable) {
  pages_[static_cast<std::size_t>(of(pool, block))].findable += is_findable ? 1 : -1;
}

}  // namespace hybridkv
