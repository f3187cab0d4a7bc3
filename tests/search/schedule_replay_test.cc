// A schedule through the pools of the simulator: what it says is there when it is looked for.
#include "search/schedule_replay.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.h"
#include "search/hit_ceiling.h"
#include "tests/search/small_traces.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Units and states of so many ids, in one arena or two, and requests that hold their units and one state.
struct SmallCache {
  std::int64_t ids = 10, unit_ids = 1, state_ids = 1, state_arena_ids = 0;

  std::int64_t units_of(std::int64_t tokens, std::int64_t unit) const { return (tokens + unit - 1) / unit; }
  ScheduledPools pools(std::int64_t unit) const {
    ScheduledPools pools{.usable_ids = {ids}, .tokens = {{0, unit_ids}}, .states = {}, .running = {}};
    const bool apart = state_arena_ids > 0;
    if (apart) pools.usable_ids.push_back(state_arena_ids);
    if (state_ids > 0) pools.states.push_back({apart ? 1 : 0, state_ids});
    pools.running = [*this, unit, apart](std::int64_t tokens) {
      const std::int64_t own = units_of(tokens, unit) * unit_ids;
      return apart ? std::vector{own, state_ids} : std::vector{own + state_ids};
    };
    return pools;
  }
  OfflineSchedule schedule(const ReusePaths& paths) const {
    const CacheSizes sizes{.memory_bytes = ids + state_arena_ids, .unit_bytes = unit_ids, .state_bytes = state_ids};
    const HitCeiling ceiling = hit_ceiling(paths, sizes);
    return offline_schedule(paths, sizes, ceiling.price, {.token_bytes = ids, .state_bytes = state_arena_ids},
                            [&](std::int64_t request) {
                              const std::int64_t units = units_of(paths.prompt_tokens(request), paths.unit_tokens());
                              return RunningBytes{.tokens = units * unit_ids, .states = state_ids};
                            });
  }
};

ScheduleReplayStats replayed(const SmallTrace& trace, const SmallCache& cache, const OfflineSchedule& schedule) {
  const ReusePaths paths = trace.paths();
  const ScheduledPools pools = cache.pools(trace.unit);
  ScheduleReplay replay(paths, schedule, pools, {});
  replay.consume(trace.batch());
  return replay.stats();
}

SmallTrace longer_trace(Draw& draw) {
  SmallTrace trace{.tail = draw(0, 2)};
  trace.prompts.resize(static_cast<std::size_t>(draw(5, 40)));
  for (std::vector<int>& prompt : trace.prompts) {
    prompt.resize(static_cast<std::size_t>(draw(1, 5)));
    for (int& content : prompt) content = static_cast<int>(draw(0, 1));
  }
  return trace;
}

}  // namespace

TEST_CASE("golden: of a stretch that does not fit whole a schedule keeps as much as does") {
  // While the second prompt runs on 4 of 10 ids, 6 units of the first are left for the third.
  const SmallTrace trace{.prompts = {std::vector<int>(8, 0), {1, 1, 1}, std::vector<int>(8, 0)}};
  const OfflineSchedule schedule = SmallCache{.ids = 10, .state_ids = 0}.schedule(trace.paths());
  CHECK(schedule.units == std::vector<std::int32_t>{0, 0, 6});
  CHECK(schedule.tokens == 60);
}

TEST_CASE("law: a schedule that keeps to the memory finds in the pools what it says, over 1,000 caches") {
  std::int64_t hits = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    const SmallTrace trace = longer_trace(draw);
    SmallCache cache{.ids = 0, .unit_ids = draw(1, 2), .state_ids = draw(0, 2)};
    cache.ids = 6 * cache.unit_ids + cache.state_ids + draw(0, 12);  // the longest prompt fits
    if (cache.state_ids > 0 && draw(0, 1) == 1) cache.state_arena_ids = cache.state_ids * draw(2, 6);
    // Ids that all groups of an arena take together are counted as one; the rest of a pool would be lost.
    const std::int64_t common = cache.state_arena_ids > 0 || cache.state_ids == 0 ? cache.unit_ids
                                : cache.unit_ids == cache.state_ids               ? cache.unit_ids
                                                                                  : 1;
    cache.ids -= cache.ids % common;
    const OfflineSchedule schedule = cache.schedule(trace.paths());
    const ScheduleReplayStats stats = replayed(trace, cache, schedule);
    CHECK(stats.hit_tokens == schedule.tokens);
    CHECK(stats.missed_requests == 0);
    hits += stats.hit_tokens;
  }
  CHECK(hits > 10'000);
}

TEST_CASE("fault: a schedule that wants more than there is finds less than it says") {
  const SmallTrace trace{.prompts = {{0, 1}, {1, 1}, {1, 0}, {0, 1}}, .tail = 1};
  const ReusePaths paths = trace.paths();
  SmallCache cache{.ids = 7};
  OfflineSchedule all{.units = {0, 0, 1, 2}, .tokens = 30};
  CHECK(replayed(trace, {.ids = 12}, all).hit_tokens == 30);
  const ScheduleReplayStats stats = replayed(trace, cache, all);
  CHECK(stats.hit_tokens < 30);
  CHECK(stats.missed_requests > 0);
}

TEST_CASE("fault: a schedule of another prompt finds nothing that is not there") {
  const SmallTrace trace{.prompts = {{0, 1}, {0, 1}}}, other{.prompts = {{0, 1}, {1, 1}}};
  const ReusePaths paths = trace.paths();
  const SmallCache cache{.ids = 30};
  const OfflineSchedule schedule = cache.schedule(paths);
  REQUIRE(schedule.tokens == 20);
  const ScheduledPools pools = cache.pools(trace.unit);
  ScheduleReplay replay(paths, schedule, pools, {});
  replay.consume(other.batch());
  CHECK(replay.stats().hit_tokens == 0);
  CHECK(replay.stats().missed_requests == 1);
}

TEST_CASE("rule: a prompt that no engine takes is left out, one that does not fit the pools does not run") {
  const SmallTrace trace{.prompts = {{0}, {0, 1, 1, 1, 1}, {0}}};
  ReusePaths paths(trace.unit, 31);  // the second prompt has 51 tokens
  paths.consume(trace.batch());
  const SmallCache cache{.ids = 20};
  const OfflineSchedule schedule = cache.schedule(paths);
  const ScheduledPools pools = cache.pools(trace.unit);
  ScheduleReplay replay(paths, schedule, pools, 31);
  replay.consume(trace.batch());
  CHECK(replay.stats().hit_tokens == 10);
  const OfflineSchedule long_too{.units = {0, 1, 1}, .tokens = 20};
  const ScheduleReplayStats stats = replayed(trace, {.ids = 5}, long_too);
  CHECK(stats.hit_tokens == 10);  // the last one, as what the first one left is still there
  CHECK(stats.missed_requests == 1);
}

TEST_CASE("edge: a request that found all that it needs of an arena runs though nothing of it is left") {
  // The second arena has an id for each whole unit, none for the one token behind them: of its two ids the second
  // request needs none but the two that it found. Of the first arena it takes one for that token.
  const SmallTrace trace{.prompts = {{0, 1}, {0, 1}}, .tail = 1};
  const ReusePaths paths = trace.paths();
  const OfflineSchedule schedule{.units = {0, 2}, .tokens = 20};
  ScheduledPools pools{.usable_ids = {3, 2}, .tokens = {{0, 1}, {1, 1}}, .states = {}, .running = {}};
  pools.running = [](std::int64_t tokens) { return std::vector<std::int64_t>{(tokens + 9) / 10, tokens / 10}; };
  ScheduleReplay replay(paths, schedule, pools, {});
  replay.consume(trace.batch());
  CHECK(replay.stats().hit_tokens == 20);
  CHECK(replay.stats().missed_requests == 0);
}
