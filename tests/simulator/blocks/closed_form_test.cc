// The published numbers of vLLM PR 35703 and its discussion, in closed form and simulated.
#include "simulator/blocks/closed_form.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

CacheGeometry align(std::int64_t block, std::int64_t num_blocks = 1000) {
  return {.block_size_tokens = block, .num_blocks = num_blocks, .state_groups = 1, .mode = CacheMode::align};
}

/// Hit rate of the second copy of one prompt, in per cent to one decimal.
double second_copy_percent(std::int64_t block, std::int64_t prompt) {
  const RequestRecord second = run(align(block), {}, copies_of({{1, prompt}}, 2)).records.at(1);
  return std::round(1000.0 * static_cast<double>(second.hit_tokens) / static_cast<double>(prompt)) / 10;
}

}  // namespace

TEST_CASE("golden: 300 copies of 2000 tokens hit 52.62 % at block 1056 and 94.88 % at block 272") {
  for (const auto& [block, percent] : {std::pair{1056, 52.62}, std::pair{272, 94.88}}) {
    Simulation simulation(align(block));
    simulation.count_copies();
    simulation.consume(copies_of({{1, 2000}}, 300));
    const SimulationStats stats = simulation.finish();
    CHECK(std::round(stats.hit_rate() * 10000) / 100 == doctest::Approx(percent));
    CHECK(stats.copies.requests == 299);
    CHECK(stats.copies.simulated_tokens == stats.hit_tokens);
    CHECK(stats.copies.predicted_tokens == stats.hit_tokens);
    CHECK(stats.modelled.empty());
  }
}

TEST_CASE("golden: block 528, second copies of 552 and 979 tokens hit 95.7 and 53.9 %") {
  CHECK(second_copy_percent(528, 552) == doctest::Approx(95.7));
  CHECK(second_copy_percent(528, 979) == doctest::Approx(53.9));
}

TEST_CASE("golden: block 1024, second copies of 1024, 1025 and 2047 tokens hit 0, 0.999 and 0.500") {
  CHECK(second_copy_percent(1024, 1024) == 0);
  CHECK(second_copy_percent(1024, 1025) == doctest::Approx(99.9));
  CHECK(second_copy_percent(1024, 2047) == doctest::Approx(50.0));
}

TEST_CASE("golden: block 528, budget 2048, 2200 tokens: checkpoints at 1584 and 2112, nothing between") {
  CacheGeometry geometry = align(528);
  geometry.max_num_batched_tokens = 2048;
  CHECK(checkpoint_positions(geometry, 2200) == std::vector<std::int64_t>{1584, 2112});
  const Run result = run(geometry, {}, batch_of({{{1, 2200}}, {{1, 1600}, {2, 600}}}));
  CHECK(result.records[1].hit_tokens == 1584);
  CHECK(run(geometry, {}, batch_of({{{1, 2200}}, {{1, 1500}, {3, 700}}})).records[1].hit_tokens == 0);
  CHECK(run(geometry, {}, batch_of({{{1, 2200}}})).stats.pool.checkpoints_made == 2);
}

TEST_CASE("golden: block 8320 and prompts below 4096: none of 10,608 requests hits") {
  CacheGeometry geometry = align(8320);
  geometry.max_num_batched_tokens = 16384;
  const SimulationStats stats = run(geometry, {}, copies_of({{1, 4095}}, 10608)).stats;
  CHECK(stats.requests == 10608);
  CHECK(stats.requests_with_hit == 0);
}

TEST_CASE("golden: block 16, 69 blocks, 3 speculative tokens: a request ends up to 1008 of 1024 tokens") {
  CacheGeometry geometry = align(16, 69);
  geometry.speculative_tokens = 3;
  CHECK(longest_request(geometry) == 1008);
  const DriverSpec one{.kind = DriverKind::closed_loop, .in_flight = 1};
  // The last generated token is never computed: 1000 + 9 need 1008, 1000 + 10 one more.
  CHECK(run(geometry, one, batch_of({{{1, 1000}}}, 9)).records[0].status == RequestStatus::ok);
  CHECK(run(geometry, one, batch_of({{{1, 1000}}}, 10)).records[0].status == RequestStatus::stalled);
  CHECK(run(geometry, one, batch_of({{{1, 1010}}}, 1)).records[0].status == RequestStatus::stalled);
  CHECK(run(geometry, one, batch_of({{{1, 1040}}}, 1)).records[0].status == RequestStatus::refused);
}

TEST_CASE("law: simulated copies hit what the closed form says") {
  for (const CacheMode mode : {CacheMode::none, CacheMode::align, CacheMode::all})
    for (const bool drafter : {false, true})
      for (const bool branch_point : {false, true})
        for (std::int64_t state_groups = 0; state_groups < 3; ++state_groups)
          for (std::int64_t prompt = 1; prompt <= 30; ++prompt) {
            CacheGeometry geometry = align(4);
            geometry.mode = mode;
            geometry.drafter_drops_block = drafter;
            geometry.scheduler.branch_point = branch_point;
            geometry.state_groups = state_groups;
            const Run result = run(geometry, {}, copies_of({{1, prompt}}, 4));
            for (std::int64_t copy = 2; copy <= 4; ++copy) {
              CAPTURE(prompt);
              CAPTURE(copy);
              REQUIRE(result.records[copy - 1].hit_tokens == *predicted_copy_hit(geometry, prompt, copy));
            }
          }
}

TEST_CASE("edge: no closed form for a match unit below the block or several chunks that end on a boundary") {
  CacheGeometry geometry = align(4);
  geometry.match_unit_tokens = 2;
  CHECK(!predicted_copy_hit(geometry, 13, 2));
  geometry = align(4);
  geometry.max_num_batched_tokens = 8;
  CHECK(!predicted_copy_hit(geometry, 20, 2));
  CHECK(predicted_copy_hit(geometry, 21, 2) == 20);
}

TEST_CASE("edge: blocks of a request by mode") {
  CacheGeometry geometry = align(4, 20);
  geometry.state_groups = 2;
  geometry.speculative_tokens = 1;
  CHECK(request_block_ids(geometry, 9) == 3 + 2 * 3);
  geometry.mode = CacheMode::none;
  CHECK(request_block_ids(geometry, 9) == 3 + 2 * 2);
  geometry.mode = CacheMode::all;
  CHECK(request_block_ids(geometry, 9) == 3 + 2 * 4);
  geometry.extra_blocks_per_request = 5;
  CHECK(request_block_ids(geometry, 9) == 3 + 2 * 4 + 5);
  CHECK(longest_request(geometry) == 4 * ((20 - 1 - 5 - 2) / 3));
}
