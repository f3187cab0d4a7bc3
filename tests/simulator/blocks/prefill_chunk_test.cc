// Chunk ends worked out by hand from vLLM KVCacheManager and Scheduler.
#include "simulator/blocks/prefill_chunk.h"

#include <doctest/doctest.h>

#include <vector>

using namespace hybridkv;

namespace {

CacheGeometry aligned(std::int64_t block, std::int64_t budget) {
  return {.block_size_tokens = block, .num_blocks = 100, .state_groups = 1, .mode = CacheMode::align,
          .max_num_batched_tokens = budget};
}

/// Chunks of a prompt that runs alone behind a hit.
std::vector<std::int64_t> chunks(const CacheGeometry& geometry, std::int64_t prompt, std::int64_t hit = 0,
                                 std::int64_t uncached_common = 0) {
  std::vector<std::int64_t> result;
  PrefillPosition at{hit, prompt, uncached_common};
  while (at.start < prompt) {
    result.push_back(next_prefill_chunk(geometry, at, geometry.max_num_batched_tokens));
    REQUIRE(result.back() > 0);
    at = {at.start + result.back(), prompt, 0};
  }
  return result;
}

using Chunks = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("golden: block 528, budget 2048, 2200 tokens: 1584, 528, 88") {
  CHECK(chunks(aligned(528, 2048), 2200) == Chunks{1584, 528, 88});
}

TEST_CASE("edge: a budget that holds the prompt leaves one cut, at the last boundary") {
  CHECK(chunks(aligned(4, 64), 22) == Chunks{20, 2});
  CHECK(chunks(aligned(4, 64), 20) == Chunks{20});
  CHECK(chunks(aligned(4, 64), 3) == Chunks{3});
}

TEST_CASE("edge: other modes are cut by the budget and the threshold alone") {
  CacheGeometry geometry = aligned(4, 9);
  geometry.mode = CacheMode::all;
  CHECK(chunks(geometry, 22) == Chunks{9, 9, 4});
  geometry.scheduler.long_prefill_threshold = 7;
  CHECK(chunks(geometry, 22) == Chunks{7, 7, 7, 1});
}

TEST_CASE("edge: mode align cuts a threshold to whole blocks as well") {
  CacheGeometry geometry = aligned(4, 64);
  geometry.scheduler.long_prefill_threshold = 7;
  CHECK(chunks(geometry, 22) == Chunks{4, 4, 4, 4, 4, 2});
}

TEST_CASE("edge: the rest of a step's budget below a block makes a request wait, its tail still fits") {
  const PrefillPosition start{0, 22, 0}, tail{20, 22, 0};
  CHECK(next_prefill_chunk(aligned(4, 64), start, 3) == 0);
  CHECK(next_prefill_chunk(aligned(4, 64), start, 4) == 4);
  CHECK(next_prefill_chunk(aligned(4, 64), tail, 3) == 2);
  CHECK(next_prefill_chunk(aligned(4, 64), tail, 1) == 1);
}

TEST_CASE("edge: a drafter moves the last boundary one block back") {
  CacheGeometry geometry = aligned(4, 64);
  geometry.drafter_drops_block = true;
  CHECK(chunks(geometry, 22) == Chunks{16, 6});
  CHECK(chunks(geometry, 20) == Chunks{16, 4});
  CHECK(chunks(geometry, 7) == Chunks{7});
}

TEST_CASE("edge: the first chunk ends at the branch point if attention matched at least a block more") {
  CHECK(chunks(aligned(4, 64), 22, 4, 8) == Chunks{8, 8, 2});
  CHECK(chunks(aligned(4, 64), 22, 4, 4) == Chunks{4, 12, 2});
  CHECK(chunks(aligned(4, 64), 22, 0, 3) == Chunks{20, 2});
  CacheGeometry geometry = aligned(4, 64);
  geometry.scheduler.branch_point = false;
  CHECK(chunks(geometry, 22, 4, 8) == Chunks{16, 2});
}

TEST_CASE("edge: with a match unit below the block chunks also end at the partial checkpoint") {
  CacheGeometry geometry = aligned(8, 64);
  geometry.match_unit_tokens = 2;
  CHECK(chunks(geometry, 13) == Chunks{8, 4, 1});
  CHECK(chunks(geometry, 12) == Chunks{8, 4});
  CHECK(chunks(geometry, 9) == Chunks{8, 1});
  CHECK(chunks(geometry, 13, 12) == Chunks{1});
  CHECK(chunks(geometry, 29, 12, 10) == Chunks{4, 8, 4, 1});  // the branch point at 22 is floored to block 16
  geometry.drafter_drops_block = true;
  CHECK(chunks(geometry, 21) == Chunks{8, 10, 3});
}
