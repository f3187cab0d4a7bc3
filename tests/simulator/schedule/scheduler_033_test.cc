// The scheduler of vLLM 0.33: padding for drafters, thresholds, requests that give way to themselves; by hand.
#include <doctest/doctest.h>

#include <map>
#include <stdexcept>

#include "tests/simulator/blocks/release_033_cases.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

using Rows = std::vector<std::int64_t>;

/// Tokens that each request was scheduled for, step by step, 0 where it ran and had none.
std::map<std::int64_t, Rows> rows_of(const CacheGeometry& geometry, const DriverSpec& driver, const TraceBatch& batch) {
  std::map<std::int64_t, Rows> rows;
  Simulation simulation(geometry, driver);
  simulation.after_schedule = [&] {
    for (const auto& request : simulation.scheduler().running())
      rows[request->record.index].push_back(request->scheduled_tokens);
  };
  simulation.consume(batch);
  simulation.finish();
  return rows;
}

DriverSpec closed_033(std::int64_t in_flight) { return {.kind = DriverKind::closed_loop, .in_flight = in_flight}; }

CacheGeometry drafting(std::int64_t speculative) {
  CacheGeometry geometry = geometry_033(4, 60, 1);
  geometry.speculative_tokens = speculative;
  geometry.rules.lookahead_tokens = 1;
  return geometry;
}

}  // namespace

TEST_CASE("edge: one token left behind a hit gets the rows of a drafter's tokens") {
  // 5 tokens: 4 and 1; the copies hit 4.
  CHECK(rows_of(drafting(2), {}, copies_of({{1, 5}}, 2))[1] == Rows{3});
  CHECK(rows_of(drafting(1), {}, copies_of({{1, 5}}, 2))[1] == Rows{2});
  CacheGeometry without = geometry_033(4, 60, 1);
  CHECK(rows_of(without, {}, copies_of({{1, 5}}, 2))[1] == Rows{1});
  // A prompt of one token alone, without a hit, gets none.
  CHECK(rows_of(drafting(2), {}, batch_of({{{1, 1}}}))[0] == Rows{1});
}

TEST_CASE("edge: one token beside running requests gets them too, unless one of those is inside its prompt") {
  // The first decodes in step 2, when the second comes in.
  auto rows = rows_of(drafting(2), closed_033(2), batch_of({{{1, 2}}, {{2, 9}}, {{3, 1}}}, 2));
  CHECK(rows[0] == Rows{2, 1});
  CHECK(rows[1] == Rows{8, 1, 1});
  // Request 2 takes the place of 0 in step 3; 1 decodes by then.
  CHECK(rows[2] == Rows{3, 1});
  CacheGeometry narrow = drafting(2);
  narrow.max_num_batched_tokens = 10;
  rows = rows_of(narrow, closed_033(2), batch_of({{{1, 2}}, {{2, 40}}, {{3, 1}}}, 2));
  // Request 1 is still inside its prompt when 2 comes in.
  CHECK(rows[2].front() == 1);
}

TEST_CASE("edge: rows of a drafter that the budget lacks keep everybody out") {
  CacheGeometry geometry = drafting(2);
  geometry.max_num_batched_tokens = 3;
  // In step 3 the first decodes, two tokens are left; the second, of one token, wants three rows.
  const auto rows = rows_of(geometry, closed_033(2), batch_of({{{1, 3}}, {{2, 1}}}, 4));
  CHECK(rows.at(0) == Rows{3, 1, 1, 1});
  CHECK(rows.at(1) == Rows{1, 1, 1, 1});
}

TEST_CASE("edge: a long-prefill threshold does not count for a request that is alone") {
  CacheGeometry geometry = geometry_033(4, 60, 1);
  geometry.scheduler.long_prefill_threshold = 8;
  CHECK(rows_of(geometry, closed_033(1), batch_of({{{1, 22}}}, 1))[0] == Rows{20, 2});
  const auto rows = rows_of(geometry, closed_033(2), batch_of({{{1, 22}}, {{2, 22}}}, 1));
  CHECK(rows.at(0) == Rows{8, 8, 4, 2});
}

TEST_CASE("edge: an adaptive threshold is no less than the share of a step") {
  CacheGeometry geometry = geometry_033(4, 60, 1);
  geometry.max_num_batched_tokens = 24;
  geometry.scheduler.long_prefill_threshold = 8;
  const TraceBatch batch = batch_of({{{1, 22}}, {{2, 22}}}, 1);
  CHECK(rows_of(geometry, closed_033(2), batch).at(0) == Rows{8, 8, 4, 2});
  geometry.scheduler.long_prefill_threshold_adaptive = true;
  CHECK(rows_of(geometry, closed_033(2), batch).at(0) == Rows{12, 8, 2});
  geometry.scheduler.long_prefill_threshold = 16;
  CHECK(rows_of(geometry, closed_033(2), batch).at(0) == Rows{16, 4, 2});
  geometry.rules = {};
  CHECK_THROWS_WITH_AS(validate(geometry), doctest::Contains("has a fixed limit"), SpecError);
}

TEST_CASE("edge: fewer requests may be admitted than a step has room for") {
  CacheGeometry geometry = geometry_033(4, 60, 1);
  geometry.scheduler.max_num_active_seqs = 1;
  std::size_t most = 0;
  Simulation simulation(geometry, closed_033(2));
  simulation.after_schedule = [&] { most = std::max(most, simulation.scheduler().running().size()); };
  simulation.consume(batch_of({{{1, 5}}, {{2, 5}}, {{3, 5}}}, 3));
  simulation.finish();
  CHECK(most == 1);
  geometry.scheduler.max_num_active_seqs = 257;
  CHECK_THROWS_WITH_AS(validate(geometry), doctest::Contains("max_num_active_seqs: must be 1 to 256"), SpecError);
}

TEST_CASE("edge: what a drafter lacks beyond the prompt stalls a request, which today's admission lets in for ever") {
  // 16 tokens of attention fit, 16 + s do not; the prompt's first chunk does.
  CacheGeometry geometry = drafting(2);
  geometry.state_groups = 0;
  geometry.max_num_batched_tokens = 8;
  const auto status = [&](std::int64_t blocks) {
    geometry.num_blocks = blocks;
    const Run result = run(geometry, closed_033(1), batch_of({{{1, 16}}, {{2, 5}}}, 1));
    CHECK(result.records[1].status == RequestStatus::ok);
    return result.records[0];
  };
  CHECK(status(6).status == RequestStatus::ok);
  CHECK(status(5).status == RequestStatus::stalled);
  // It gave way once, came back and got no further.
  CHECK(status(5).preemptions == 1);
  // One that never fits is refused, as in June.
  CHECK(status(4).status == RequestStatus::refused);
}

TEST_CASE("edge: a prompt that fits no step is refused, not waited for") {
  CacheGeometry geometry = drafting(2);
  geometry.max_num_batched_tokens = 2;
  const Run result = run(geometry, closed_033(1), copies_of({{1, 5}}, 2, 1));
  // The second copy hits 4 and wants three rows of a budget of two.
  CHECK(result.records[0].status == RequestStatus::ok);
  CHECK(result.records[1].status == RequestStatus::refused);
}

TEST_CASE("edge: a drafter of several modules is left no rest that is shorter than they are many") {
  CacheGeometry geometry = drafting(3);
  geometry.state_groups = 0;
  geometry.max_num_batched_tokens = 10;
  CHECK(rows_of(geometry, {}, batch_of({{{1, 11}}}))[0] == Rows{10, 1});
  geometry.rules.lookahead_tokens = 3;
  CHECK(rows_of(geometry, {}, batch_of({{{1, 11}}}))[0] == Rows{8, 3});
  CHECK(rows_of(geometry, {}, batch_of({{{1, 13}}}))[0] == Rows{10, 3});
}

TEST_CASE("regression: what no step brings further is stalled, others go on: a drafter of two modules, budget B") {
  CacheGeometry geometry = drafting(2);
  geometry.rules.lookahead_tokens = 2;
  geometry.max_num_batched_tokens = 4;
  // Behind 8 of 13 tokens a chunk of 4 would leave one, so it is 3 long, which is no block: nothing.
  const TraceBatch batch = batch_of({{{1, 13}}, {{2, 3}}, {{3, 13}}, {{4, 4}}}, 3);
  for (const EvictionPolicy policy : {EvictionPolicy::lru, EvictionPolicy::worth})
    for (const std::int64_t in_flight : {1, 2, 4}) {
      CAPTURE(to_string(policy));
      CAPTURE(in_flight);
      geometry.scheduler.eviction = policy;
      std::map<std::int64_t, RequestStatus> ended;
      Simulation simulation(geometry, closed_033(in_flight),
                            [&](const RequestRecord& record) { ended[record.index] = record.status; });
      std::int64_t steps = 0;
      simulation.after_schedule = [&] {
        if (++steps > 100) throw std::runtime_error("the replay does not end");
      };
      simulation.consume(batch);
      const SimulationStats stats = simulation.finish();
      CHECK(stats.stalled == 2);
      using Status = RequestStatus;
      CHECK(ended == std::map<std::int64_t, Status>{{0, Status::stalled}, {1, Status::ok}, {2, Status::stalled},
                                                    {3, Status::ok}});
      CHECK(simulation.scheduler().cache().pool().num_held() == 0);
    }
  geometry.max_num_batched_tokens = 5;
  CHECK(run(geometry, closed_033(2), batch).stats.stalled == 0);
}

TEST_CASE("edge: what of 0.33 is modelled") {
  const auto modelled = [](const CacheGeometry& geometry, const DriverSpec& driver) {
    return run(geometry, driver, copies_of({{1, 5}}, 2, 2)).stats.modelled;
  };
  using Rules = std::vector<ModelledRule>;
  CHECK(modelled(drafting(1), {}) == Rules{});
  CHECK(modelled(geometry_033(4, 60, 1), closed_033(1)) == Rules{});
  CHECK(modelled(drafting(1), closed_033(2)) == Rules{ModelledRule::draft_tokens, ModelledRule::preemption});
  CacheGeometry windows = geometry_033(4, 60, 1);
  windows.attention_groups = 3;
  windows.attention_masks = {{}, {}, {MaskKind::sliding_window, 8}};
  CHECK(modelled(windows, {}) == Rules{ModelledRule::several_windows, ModelledRule::several_attention_groups});
  windows.drafter_drops_block = true;
  CHECK(modelled(windows, {}).front() == ModelledRule::drafter_windows);
  windows.rules.attention_drafters = {true, false, false};
  CHECK(modelled(windows, {}).front() == ModelledRule::several_windows);
  // The first group may be the one with a window; one is left that sees every token.
  CacheGeometry window_first = geometry_033(4, 60, 1);
  window_first.attention_groups = 2;
  window_first.attention_masks = {{MaskKind::sliding_window, 8}, {}};
  CHECK(modelled(window_first, {}) == Rules{ModelledRule::several_windows});
}
