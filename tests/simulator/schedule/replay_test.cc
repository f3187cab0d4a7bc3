// Replays of the conversation trace, request by request, against what a real engine's block manager did.
#include <doctest/doctest.h>

#include "simulator/schedule/simulation.h"
#include "tests/simulator/schedule/replay_trace.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

void check_replayed(const CacheGeometry& geometry, const std::string& file) {
  const std::vector<ReplayRow> expected = expected_rows("replay/" + file);
  REQUIRE(expected.size() == 2000);
  if (const auto trace = conversation_trace(2000)) check_rows(replayed_rows(geometry, *trace), expected);
}

CacheGeometry replayed(std::int64_t block, std::int64_t blocks, std::int64_t state_groups, CacheMode mode) {
  return {.block_size_tokens = block, .num_blocks = blocks, .state_groups = state_groups, .mode = mode};
}

}  // namespace

TEST_CASE("golden: replay of 2000 requests, attention only, block 512, 2000 blocks") {
  check_replayed(replayed(512, 2000, 0, CacheMode::none), "replay_conversation_2000_full_bs512_pool2000.csv");
}

TEST_CASE("golden: replay of 2000 requests, mode align, block 528, 2000 blocks") {
  check_replayed(replayed(528, 2000, 1, CacheMode::align), "replay_conversation_2000_align_bs528_pool2000_g1.csv");
}

TEST_CASE("golden: replay of 2000 requests, mode align, block 2096, 20000 blocks") {
  check_replayed(replayed(2096, 20000, 1, CacheMode::align), "replay_conversation_2000_align_bs2096_pool20000_g1.csv");
}

TEST_CASE("golden: replay of 2000 requests, mode align without branch points, block 272, 20000 blocks") {
  CacheGeometry geometry = replayed(272, 20000, 1, CacheMode::align);
  geometry.scheduler.branch_point = false;
  check_replayed(geometry, "replay_conversation_2000_align-nomarconi_bs272_pool20000_g1.csv");
}

TEST_CASE("golden: replay of 2000 requests, mode all, block 1056, 4000 blocks, 3 recurrent groups") {
  check_replayed(replayed(1056, 4000, 3, CacheMode::all), "replay_conversation_2000_all_bs1056_pool4000_g3.csv");
}

TEST_CASE("golden: block ids of a replay, mode align, block 528, 2000 blocks") {
  check_blocks(replayed(528, 2000, 1, CacheMode::align),
               HYBRIDKV_TEST_DATA "/simulator/replay/"
               "replay_blocks_conversation_400_align_bs528_pool2000_g1.jsonl", 394);
}

TEST_CASE("golden: block ids of a replay, attention only, block 512, 1000 blocks") {
  check_blocks(replayed(512, 1000, 0, CacheMode::none),
               HYBRIDKV_TEST_DATA "/simulator/replay/replay_blocks_conversation_400_full_bs512_pool1000_g0.jsonl", 396);
}
