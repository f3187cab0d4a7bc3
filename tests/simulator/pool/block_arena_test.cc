#include "simulator/pool/block_arena.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.h"
#include "simulator/blocks/invariants.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using hybridkv::testing::Dice;

namespace {
std::vector<BlockId> queue_of(const BlockArena& pool) { return ArenaPeek::queue(pool).in_order(); }
}  // namespace

TEST_CASE("edge: a pool hands out blocks from 1 upwards, never the null block") {
  BlockArena pool(4);
  CHECK(pool.num_free() == 3);
  for (const BlockId expected : {1, 2, 3}) CHECK(pool.take(BlockKind::attention) == expected);
  CHECK(!pool.has_room(1));
  CHECK_THROWS_AS(pool.take(BlockKind::attention), std::logic_error);
}

TEST_CASE("edge: freed blocks with a key queue last, without one first") {
  BlockArena pool(6);
  for (int i = 0; i < 3; ++i) pool.take(BlockKind::attention);
  pool.publish(1, 11, 1, false);
  pool.publish(3, 33, 1, false);
  for (const BlockId block : {3, 2, 1}) pool.release(block);
  CHECK(queue_of(pool) == std::vector<BlockId>{2, 4, 5, 3, 1});
}

TEST_CASE("edge: a hit leaves the queue, a block taken for new use loses its key") {
  BlockArena pool(4);
  for (const BlockId block : {1, 2, 3}) {
    pool.take(BlockKind::state);
    pool.publish(block, 100 + block, 1, true);
  }
  for (const BlockId block : {1, 2, 3}) pool.release(block);
  const BlockId hit = pool.find(101);
  CHECK(hit == 1);
  pool.hold(hit);
  pool.mark_used(hit);
  CHECK(queue_of(pool) == std::vector<BlockId>{2, 3});
  CHECK(pool.take(BlockKind::attention) == 2);
  CHECK(pool.find(102) == null_block_id);
  CHECK(pool.stats().evictions == 1);
  CHECK(pool.stats().checkpoints_evicted_unused == 1);
  CHECK(pool.stats().checkpoints_used == 1);
  CHECK(pool.num_findable(BlockKind::state) == 2);
  CHECK(pool.num_held(BlockKind::state) == 1);
  CHECK(pool.num_held(BlockKind::attention) == 1);
}

TEST_CASE("edge: a checkpoint that was used is not counted as lost unused") {
  BlockArena pool(2);
  const BlockId block = pool.take(BlockKind::state);
  pool.publish(block, 7, 1, true);
  pool.mark_used(block);
  pool.release(block);
  CHECK(pool.take(BlockKind::state) == block);
  CHECK(pool.stats().checkpoints_evicted == 1);
  CHECK(pool.stats().checkpoints_evicted_unused == 0);
}

TEST_CASE("edge: a shared block stays held until its last holder leaves") {
  BlockArena pool(3);
  const BlockId block = pool.take(BlockKind::attention);
  pool.publish(block, 5, 1, false);
  pool.hold(block);
  pool.release(block);
  CHECK(!pool.is_free(block));
  pool.release(block);
  CHECK(pool.is_free(block));
  CHECK_THROWS_AS((pool.hold(block), pool.publish(block, 6, 1, false)), std::logic_error);
}

TEST_CASE("edge: in 0.33 blocks without a key that are given back together keep their order at the front") {
  BlockArena pool(6, false, {.releases_in_order = true});
  for (int i = 0; i < 4; ++i) pool.take(BlockKind::attention);
  pool.publish(2, 22, 1, false);
  BlockId last = null_block_id;
  for (const BlockId block : {4, 3, 2}) pool.release(block, last);
  CHECK(queue_of(pool) == std::vector<BlockId>{4, 3, 5, 2});
  pool.release(1);
  CHECK(queue_of(pool) == std::vector<BlockId>{1, 4, 3, 5, 2});
}

TEST_CASE("edge: a block with a tail's key is found by it, queues last and loses both keys at once") {
  BlockArena pool(4, false, {.tail_keys = true});
  for (int i = 0; i < 3; ++i) pool.take(BlockKind::attention);
  pool.publish_tail(1, 11, 1);
  CHECK(pool.num_findable(BlockKind::attention) == 1);
  pool.publish(1, 12, 2, false);
  CHECK(pool.num_findable(BlockKind::attention) == 1);
  CHECK(pool.find_tail(11) == 1);
  CHECK(pool.find(12) == 1);
  CHECK(pool.find(11) == null_block_id);
  pool.publish_tail(2, 11, 2);
  // The oldest block of a tail is found; one that is entered anew is the youngest.
  CHECK(pool.find_tail(11) == 1);
  pool.publish_tail(1, 11, 3);
  CHECK(pool.find_tail(11) == 2);
  for (const BlockId block : {2, 3, 1}) pool.release(block);
  CHECK(queue_of(pool) == std::vector<BlockId>{3, 2, 1});
  for (int i = 0; i < 3; ++i) pool.take(BlockKind::state);
  CHECK(pool.stats().evictions == 2);
  CHECK(pool.find_tail(11) == null_block_id);
  CHECK(pool.find(12) == null_block_id);
  CHECK(pool.num_findable(BlockKind::attention) == 0);
}

TEST_CASE("edge: a key that moves makes its new block the youngest, and the checkpoint goes along") {
  BlockArena pool(5);
  for (int i = 0; i < 4; ++i) pool.take(BlockKind::state);
  pool.publish(1, 7, 1, true);
  pool.publish(2, 7, 1, false);
  pool.move_key(1, 3, 2);
  CHECK(pool.key(1) == 0);
  CHECK(pool.find(7) == 2);
  CHECK(pool.published_step(3) == 2);
  CHECK(pool.num_findable(BlockKind::state) == 2);
  pool.release(3);
  pool.take(BlockKind::state);
  CHECK(pool.stats().checkpoints_evicted == 1);
}

TEST_CASE("edge: an unlimited pool grows instead of dropping a key") {
  BlockArena pool(2, true);
  for (PrefixKey key = 1; key <= 100; ++key) {
    const BlockId block = pool.take(BlockKind::attention);
    pool.publish(block, key, 1, false);
    pool.release(block);
  }
  for (PrefixKey key = 1; key <= 100; ++key) CHECK(pool.find(key) != null_block_id);
  CHECK(pool.stats().evictions == 0);
  CHECK(pool.num_blocks() == 101);
}

TEST_CASE("law: blocks that were never taken stand in one row, in every order of takes and returns") {
  Dice dice(11);
  for (int round = 0; round < 200; ++round) {
    const std::int64_t blocks = dice.roll(2, 40);
    FreeQueue queue(blocks);
    std::vector<BlockId> naive, taken;
    for (BlockId block = 1; block < blocks; ++block) naive.push_back(block);
    for (int i = 0; i < 120; ++i) {
      const std::int64_t what = dice.roll(0, 4);
      if (what <= 1 && !naive.empty()) {
        taken.push_back(queue.pop_front());
        REQUIRE(taken.back() == naive.front());
        naive.erase(naive.begin());
      } else if (what >= 3 && !taken.empty()) {
        const auto at = taken.begin() + dice.roll(0, std::ssize(taken) - 1);
        what == 3 ? queue.push_back(*at) : queue.push_front(*at);
        naive.insert(what == 3 ? naive.end() : naive.begin(), *at);
        taken.erase(at);
      } else if (what == 2 && !naive.empty()) {
        // One that has a link leaves from the middle, as a hit does.
        const BlockId block = naive[static_cast<std::size_t>(dice.roll(0, std::ssize(naive) - 1))];
        if (block >= queue.num_linked()) continue;
        queue.remove(block);
        std::erase(naive, block);
        taken.push_back(block);
      }
      REQUIRE(queue.in_order() == naive);
      REQUIRE(queue.size() == std::ssize(naive));
      for (BlockId block = 1; block < blocks; ++block)
        REQUIRE(queue.contains(block) == (std::find(naive.begin(), naive.end(), block) != naive.end()));
    }
  }
}

TEST_CASE("fault: blocks in use that take more memory than there is are refused") {
  BlockArena pool(1'000'000, false, {.most_bytes = 72 * 100});
  for (int i = 0; i < 98; ++i) pool.take(BlockKind::attention);
  CHECK(pool.num_known() == 100);
  CHECK_THROWS_WITH_AS(pool.take(BlockKind::attention), doctest::Contains("more than 100 blocks in use"),
                       ResourceError);
}
