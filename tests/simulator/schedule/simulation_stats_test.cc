#include "simulator/schedule/simulation_stats.h"

#include <doctest/doctest.h>

#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("law: a time series keeps points at even distances and never more than it may") {
  TimeSeries series(8);
  for (std::int64_t step = 1; step <= 1000; ++step) {
    if (series.wants(step)) series.add({.step = step});
    REQUIRE(series.points().size() <= 8);
  }
  REQUIRE(series.points().size() >= 4);
  const std::int64_t distance = series.points()[1].step - series.points()[0].step;
  for (std::size_t i = 1; i < series.points().size(); ++i)
    CHECK(series.points()[i].step - series.points()[i - 1].step == distance);
  CHECK(series.points().back().step + distance > 1000);
}

TEST_CASE("edge: sums and hits by turn come from the requests that ended ok") {
  // Five usable blocks of 4: the third prompt needs six and is refused.
  TraceBatch batch = batch_of({{{1, 9}}, {{1, 9}, {2, 3}}, {{1, 24}}});
  batch.requests[0].turn = 1;
  batch.requests[1].turn = 2;
  batch.requests[2].turn = 3;
  const SimulationStats stats = run({.block_size_tokens = 4, .num_blocks = 6}, {}, batch).stats;
  CHECK(stats.requests == 3);
  CHECK(stats.refused == 1);
  CHECK(stats.prompt_tokens == 21);
  CHECK(stats.hit_tokens == 8);
  // Of the prompt that is refused nothing is found: it counts in the whole, as it does in every bound.
  CHECK(stats.taken_prompt_tokens == 45);
  CHECK(stats.hit_rate() == doctest::Approx(8.0 / 45));
  CHECK(stats.requests_with_hit == 1);
  CHECK(stats.turns == std::vector<TurnStats>{{}, {1, 9, 0}, {1, 12, 8}});
}

TEST_CASE("edge: a per-request CSV line") {
  CHECK(request_csv_header == "idx,input_length,hit_tokens,num_chunks,evictions,status");
  CHECK(request_csv_row({.index = 3, .input_length = 9, .hit_tokens = 4, .num_chunks = 2, .evictions = 1,
                         .status = RequestStatus::refused}) == "3,9,4,2,1,refused");
}

TEST_CASE("edge: the series shows blocks held and found, states among them") {
  const CacheGeometry geometry{.block_size_tokens = 4, .num_blocks = 30, .state_groups = 2};
  const SimulationStats stats = run(geometry, {}, batch_of({{{1, 10}}})).stats;
  REQUIRE(stats.series.points().size() == 2);
  const SeriesPoint& first = stats.series.points()[0];  // 8 tokens: 2 attention blocks, 1 state in each group
  CHECK(first.held_blocks == 4);
  CHECK(first.held_state_blocks == 2);
  CHECK(first.findable_blocks == 4);
  CHECK(first.findable_state_blocks == 2);
  CHECK(first.running_requests == 1);
  const SeriesPoint& second = stats.series.points()[1];  // the tail: one block more of each kind
  CHECK(second.held_blocks == 7);
  CHECK(second.held_state_blocks == 4);
  CHECK(second.findable_blocks == 4);
}

TEST_CASE("edge: checkpoints made, used and evicted are counted once for all groups") {
  // 12 usable blocks, two recurrent groups: a prompt of 6 tokens leaves one checkpoint of two state blocks. The last
  // prompt takes nine blocks: three never published, the three of prompt 1 (hit once), the three of prompt 2.
  const CacheGeometry geometry{.block_size_tokens = 4, .num_blocks = 13, .state_groups = 2};
  const BlockCounts stats = run(geometry, {}, batch_of({{{1, 6}}, {{1, 6}}, {{2, 6}}, {{3, 6}}, {{4, 28}}})).stats.pool;
  CHECK(stats.checkpoints_made == 4);
  CHECK(stats.checkpoints_used == 1);
  CHECK(stats.checkpoints_evicted == 2);
  CHECK(stats.checkpoints_evicted_unused == 1);
}
