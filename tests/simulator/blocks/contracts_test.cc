// Each contract of the pools, broken once: where contracts run, the fault is found where it is made.
#include <doctest/doctest.h>

#include <cstdio>
#include <functional>

#include "base/contract.h"
#include "simulator/blocks/cache_manager.h"
#include "simulator/blocks/invariants.h"

using namespace hybridkv;

namespace {

/// A pool of three blocks: 1 is held and published, 2 is held, 3 is free.
BlockArena three_blocks() {
  BlockArena pool(4);
  pool.take(BlockKind::attention);
  pool.take(BlockKind::state);
  pool.publish(1, 11, 1, false);
  return pool;
}

void check_broken(const char* what, const std::function<void(BlockArena&)>& breaks) {
  CAPTURE(what);
  BlockArena pool = three_blocks();
  CHECK_THROWS_WITH_AS(breaks(pool), doctest::Contains(what), std::logic_error);
}

}  // namespace

TEST_CASE("fault: every contract of a pool is found broken") {
  if (!runs_contracts) {
    std::puts("SKIPPED: this build does not run contracts; the presets dev and relassert do");
    return;
  }
  check_broken("a block that is held by a hit carries a key", [](BlockArena& pool) { pool.hold(2); });
  check_broken("a block that is held by a hit carries a key", [](BlockArena& pool) { pool.hold(null_block_id); });
  check_broken("a checkpoint that is used carries a key", [](BlockArena& pool) { pool.mark_used(2); });
  check_broken("a block that is published is held", [](BlockArena& pool) { pool.publish(3, 33, 1, false); });
  check_broken("a block that is given back is held", [](BlockArena& pool) { pool.release(3); });
  check_broken("a block that is given back is held", [](BlockArena& pool) { pool.release(4); });
  check_broken("a key that is looked up is not 0", [](BlockArena& pool) { pool.find(0); });
  check_broken("a block without a key is given one", [](BlockArena& pool) { ArenaPeek::index(pool).insert(11, 1); });
  check_broken("a block loses a key that it has", [](BlockArena& pool) { ArenaPeek::index(pool).erase(2); });
  check_broken("a block leaves the free queue that is in it",
               [](BlockArena& pool) { ArenaPeek::queue(pool).remove(1); });
  check_broken("a block joins the free queue that is not in it",
               [](BlockArena& pool) { ArenaPeek::queue(pool).push_back(3); });
}

TEST_CASE(
    "fault: a cache finds at the end of a step that its counts do not add up, and looks for no prefix in mode none") {
  if (!runs_contracts) {
    std::puts("SKIPPED: this build does not run contracts; the presets dev and relassert do");
    return;
  }
  CacheGeometry geometry{.block_size_tokens = 4, .num_blocks = 8, .attention_groups = 1, .state_groups = 1};
  Scheduler scheduler(geometry, true, [](const RequestRecord&) {});
  ++ArenaPeek::held(CachePeek::pool(scheduler))[0];
  CHECK_THROWS_WITH_AS(CachePeek::cache(scheduler).end_step(), doctest::Contains("every block of a pool is held, free"),
                       std::logic_error);
  geometry.mode = CacheMode::none;
  Scheduler forgets(geometry, true, [](const RequestRecord&) {});
  RequestBlocks request = CachePeek::cache(forgets).make_request();
  auto& states = CachePeek::states(forgets);
  CHECK_THROWS_WITH_AS(states.match({}, 0, request), doctest::Contains("a prefix is looked for"), std::logic_error);
  CHECK_THROWS_WITH_AS(states.publish(request, {}, 0, {}, 0), doctest::Contains("states are published"),
                       std::logic_error);
}
