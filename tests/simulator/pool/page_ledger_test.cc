// Which block a request takes where arenas share large pages: the order of Jenga's allocator, by hand.
#include "simulator/blocks/match_unit_rules.h"
#include "simulator/pool/page_ledger.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "engines/vllm/rules.h"
#include "simulator/blocks/invariants.h"
#include "simulator/blocks/request_blocks.h"
#include "simulator/pool/block_arena.h"
#include "simulator/schedule/simulation.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Two pools over four large pages beside the null page: pages of three blocks and of two.
struct Pools {
  PageLedger ledger{5, {3, 2}};
  std::vector<BlockArena> pools;
  std::int64_t step = 0;

  Pools() {
    pools.emplace_back(15, false, BlockArena::Rules{.ledger = &ledger, .number = 0});
    pools.emplace_back(10, false, BlockArena::Rules{.ledger = &ledger, .number = 1});
  }
  bool fits(std::int64_t first, std::int64_t second, std::int64_t spare = 0) const {
    return ledger.fits(pools, std::vector<std::int64_t>{first, second}, spare, {});
  }
  /// Blocks that a request takes of a pool.
  std::vector<BlockId> take(RequestBlocks& request, std::size_t pool, std::int64_t count) {
    std::vector<std::int64_t> demand(2);
    demand[pool] = count;
    ledger.provide(pools, demand, request);
    std::vector<BlockId> taken;
    for (std::int64_t i = 0; i < count; ++i) taken.push_back(pools[pool].take(BlockKind::attention));
    return taken;
  }
  void give(std::size_t pool, const std::vector<BlockId>& blocks, PrefixKey first_key = 0) {
    for (const BlockId block : blocks) {
      if (first_key != 0) pools[pool].publish(block, first_key++, ++step, false);
      pools[pool].release(block);
    }
  }
};

using Blocks = std::vector<BlockId>;
using Steps = std::vector<int>;

/// Pools whose requests take one block at a time, so that each has a step of the paper's list.
struct PaperPages {
  PageLedger ledger;
  std::vector<BlockArena> pools;
  std::map<std::pair<const RequestBlocks*, std::size_t>, Blocks> taken;

  PaperPages(std::vector<std::int64_t> per_page, std::int64_t pages) : ledger(pages, per_page), per_page_(per_page) {
    for (std::size_t pool = 0; pool < per_page.size(); ++pool)
      pools.emplace_back(pages * per_page[pool], false,
                         BlockArena::Rules{.ledger = &ledger, .number = static_cast<std::int64_t>(pool)});
  }
  bool fits(std::int64_t first, std::int64_t second, bool alone = false) const {
    return ledger.fits(pools, std::vector<std::int64_t>{first, second}, 0, {}, alone);
  }
  Steps steps(RequestBlocks& request, std::size_t pool, int count) {
    Steps steps;
    for (int i = 0; i < count; ++i) steps.push_back(step(request, pool));
    return steps;
  }
  /// The request gives back what it took of a pool, the last block first, cached under keys from the first on.
  void end(RequestBlocks& request, std::size_t pool, PrefixKey first_key) {
    Blocks& blocks = taken[{&request, pool}];
    if (first_key != 0)
      for (const BlockId block : blocks) pools[pool].publish(block, first_key++, 1, false);
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) pools[pool].release(*block);
    blocks.clear();
  }

 private:
  int step(RequestBlocks& request, std::size_t pool) {
    const std::int64_t free = ledger.num_free(), given = ledger.num_given();
    std::vector<std::int64_t> demand(pools.size());
    demand[pool] = 1;
    if (!ledger.fits(pools, demand, 0, {})) return 0;
    const auto own = request.large_pages;
    ledger.provide(pools, demand, request);
    const std::int64_t evictions = pools[pool].stats().evictions;
    const BlockId block = pools[pool].take(BlockKind::attention);
    taken[{&request, pool}].push_back(block);
    if (ledger.num_given() > given) return free > 0 ? 2 : 3;
    if (pools[pool].stats().evictions > evictions) return 5;
    const std::int64_t page = static_cast<std::int64_t>(block) / per_page_[pool];
    return std::find(own.begin(), own.end(), page) != own.end() ? 1 : 4;
  }

  std::vector<std::int64_t> per_page_;
};

}  // namespace

TEST_CASE("golden: a request takes what its own large pages have left, then a page that nobody has") {
  Pools all;
  RequestBlocks a, b;
  CHECK(all.take(a, 0, 1) == Blocks{3});  // page 1; page 0 is null
  CHECK(all.take(b, 0, 1) == Blocks{6});  // not a's page
  CHECK(all.take(a, 0, 3) == Blocks{4, 5, 9});
  CHECK(all.take(b, 0, 2) == Blocks{7, 8});
  CHECK(all.take(b, 1, 1) == Blocks{8});  // page 4, blocks of two
  CHECK(all.ledger.num_free() == 0);
  CHECK(all.ledger.num_given() == 4);
}

TEST_CASE("golden: without one the page whose last block went longest ago goes, with all that was found in it") {
  Pools all;
  RequestBlocks a, b, c;
  const Blocks first = all.take(a, 0, 3), second = all.take(b, 0, 3);
  const Blocks third = all.take(b, 1, 4);
  all.give(0, second, 100);
  all.give(0, first, 200);
  CHECK(all.pools[0].find(100) != null_block_id);
  CHECK(all.take(c, 1, 1) == Blocks{4});  // page 2, that of `second`
  CHECK(all.pools[0].find(100) == null_block_id);
  CHECK(all.pools[0].find(200) == first.front());
  CHECK(all.pools[0].stats().evictions == 3);
  CHECK(all.pools[1].num_absent() == 9 - 6);
  CHECK(third.size() == 4);
}

TEST_CASE("golden: then free blocks of others, and last the one that went longest ago") {
  Pools all;
  RequestBlocks a, b;
  all.take(a, 0, 2);
  const Blocks found = all.take(a, 0, 4);  // 5, 6, 7, 8
  all.take(a, 1, 4);
  all.give(0, {found[1]}, 100);
  all.give(0, {found[0]});
  CHECK(all.take(b, 0, 1) == Blocks{found[0]});  // no page is without a held block
  CHECK(all.take(b, 0, 1) == Blocks{found[1]});
  CHECK(all.pools[0].find(100) == null_block_id);
  CHECK(!all.fits(1, 0));
}

TEST_CASE("golden: the steps by which the paper's two requests take their pages, and its evictions") {
  // Three large pages of 768 bytes: an image in small pages of 256, text in small pages of 384.
  PaperPages image({3, 2}, 4);
  RequestBlocks a;
  CHECK(image.steps(a, 0, 4) == Steps{2, 1, 1, 2});
  CHECK(image.steps(a, 1, 2) == Steps{2, 1});
  // Four of 256: attention in small pages of 64, states of 256.
  PaperPages hybrid({4, 1}, 5);
  RequestBlocks first, other, second;
  CHECK(hybrid.steps(first, 0, 6) == Steps{2, 1, 1, 1, 2, 1});
  CHECK(hybrid.steps(first, 1, 1) == Steps{2});
  CHECK(hybrid.steps(other, 0, 1) == Steps{2});
  hybrid.end(first, 0, 100);  // its attention stays cached
  hybrid.end(first, 1, 0);    // its state does not
  CHECK(hybrid.ledger.num_free() == 1);
  CHECK(hybrid.steps(second, 1, 2) == Steps{2, 3});
  CHECK(hybrid.pools[0].stats().evictions == 4);
  // Two small pages of the last large page of the first request are cached, and two are empty: it is not evictable.
  CHECK(!hybrid.fits(0, 1));
  CHECK(hybrid.steps(second, 0, 5) == Steps{4, 4, 4, 4, 4});
  CHECK(hybrid.pools[0].stats().evictions == 4);
  CHECK(hybrid.steps(second, 0, 2) == Steps{5, 5});
  CHECK(hybrid.pools[0].stats().evictions == 6);
}

TEST_CASE("edge: a request that runs alone takes what is neither empty nor evictable before it waits for ever") {
  PaperPages pages({4, 1}, 2);
  RequestBlocks first, second;
  pages.steps(first, 0, 2);
  pages.end(first, 0, 100);
  CHECK(!pages.fits(0, 1));
  CHECK(pages.fits(0, 1, true));
  pages.ledger.provide(pages.pools, std::vector<std::int64_t>{0, 1}, second, true);
  CHECK(pages.pools[1].num_free() == 1);
  CHECK(pages.pools[0].find(100) == null_block_id);
}

TEST_CASE("edge: a large page goes back when nothing is found in any of its blocks") {
  PaperPages pages({4, 1}, 3);
  RequestBlocks request;
  pages.steps(request, 0, 5);
  CHECK(pages.ledger.num_free() == 0);
  pages.end(request, 0, 0);
  CHECK(pages.ledger.num_free() == 2);
  CHECK(pages.pools[0].num_absent() == 3 * 4 - 1);
  CHECK(pages.steps(request, 1, 1) == Steps{2});
}

TEST_CASE("edge: a large page counts for whoever needs it, but once") {
  Pools all;
  CHECK(all.fits(12, 0));
  CHECK(!all.fits(13, 0));
  CHECK(all.fits(9, 2));
  CHECK(!all.fits(9, 3));
  CHECK(!all.fits(9, 2, 1));
  RequestBlocks a, b;
  const Blocks all_of_it = all.take(a, 0, 12);
  CHECK(!all.fits(0, 1));
  all.give(0, {all_of_it[0], all_of_it[1], all_of_it[2]}, 7);
  CHECK(all.fits(0, 2));
  CHECK(all.fits(3, 0));
  CHECK(!all.fits(1, 1));
  // The page holds what was found, so it is no one else's.
  const std::vector found{std::pair{std::int64_t{0}, all_of_it[0]}};
  CHECK(!all.ledger.fits(all.pools, std::vector<std::int64_t>{1, 1}, 0, found));
  CHECK(all.take(b, 1, 1) == Blocks{2});
}

TEST_CASE("edge: a large page in which a request finds a block makes no room, however many are free elsewhere") {
  Pools all;
  RequestBlocks a;
  const Blocks taken = all.take(a, 0, 12);  // all four pages
  all.give(0, {taken[0], taken[1], taken[2]}, 7);
  all.give(0, {taken[3], taken[6], taken[9]});
  // Six blocks are free: all of page 1, which can go, and one of each other page.
  CHECK(all.fits(1, 1));
  const std::vector found{std::pair{std::int64_t{0}, taken[0]}};
  CHECK(!all.ledger.fits(all.pools, std::vector<std::int64_t>{1, 1}, 0, found));
}

TEST_CASE("law: with room for all, large pages find what arenas of their own find") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    CacheGeometry shared = random_large_pages(dice);
    shared.scheduler.watermark = 0;
    shared.set_large_pages(3000);
    CacheGeometry apart = shared;
    apart.blocks_per_large_page.clear();
    const DriverSpec driver = random_driver(dice);
    const TraceBatch batch = random_batch(dice, 20, 40, 8);
    const Run a = run(shared, driver, batch), b = run(apart, driver, batch);
    REQUIRE(a.stats.pool.evictions == 0);
    REQUIRE(a.stats.hit_tokens == b.stats.hit_tokens);
    REQUIRE(a.stats.pool.checkpoints_used == b.stats.pool.checkpoints_used);
  }
}

TEST_CASE("law: large pages of 3 TiB cost what is used of them, and find what a few of them find") {
  constexpr std::int64_t many = (std::int64_t{3} << 40) / (64 << 10);
  std::int64_t all_used = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    CacheGeometry geometry = random_large_pages(dice);
    geometry.scheduler.watermark = 0;
    const DriverSpec driver = random_driver(dice);
    const TraceBatch batch = random_batch(dice, 20, 40, 8);
    geometry.set_large_pages(3000);
    const Run few = run(geometry, driver, batch);
    geometry.set_large_pages(many);
    Simulation simulation(geometry, driver);
    simulation.consume(batch);
    CHECK(simulation.finish().hit_tokens == few.stats.hit_tokens);
    const CacheManager& cache = simulation.scheduler().cache();
    const std::int64_t known = LedgerPeek::num_known(*cache.ledger());
    CHECK(cache.ledger()->num_pages() == many);
    CHECK(known <= 1 + cache.ledger()->num_given());
    for (std::int64_t arena = 0; arena < geometry.num_arenas(); ++arena)
      CHECK(cache.pool(arena).num_known() <= known * geometry.blocks_per_large_page[static_cast<std::size_t>(arena)]);
    all_used += known;
  }
  CHECK(all_used < 20 * 3000);
}

TEST_CASE("edge: arenas that share large pages have the same number of them, and no rings") {
  CacheGeometry geometry{.block_size_tokens = 4, .num_blocks = 30, .state_groups = 1, .more_arenas = {20},
                         .blocks_per_large_page = {3, 2}, .state_arenas = {1}};
  CHECK_NOTHROW(validate(geometry));
  const auto refused = [&](const char* what, auto&& change) {
    CacheGeometry changed = geometry;
    change(changed);
    CHECK_THROWS_WITH_AS(validate(changed), doctest::Contains(what), SpecError);
  };
  refused("arena 1 has 21 blocks, and 10 large pages of 2", [](CacheGeometry& g) { g.more_arenas = {21}; });
  refused("1 numbers for 2 arenas", [](CacheGeometry& g) { g.blocks_per_large_page = {3}; });
  refused("num_blocks: must be 2 to", [](CacheGeometry& g) { g.set_large_pages(1); g.more_arenas = {2}; });
  refused("take 0", [](CacheGeometry& g) { g.extra_blocks_per_request = 1; });
  refused("vllm-0.33 has no large pages", [](CacheGeometry& g) {
    g.rules.engine = &rules_of_vllm_0_33;
    g.rules.blocks = &match_unit_rules;
  });
}
