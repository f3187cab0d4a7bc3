// A prompt and its copy in an empty tree, beside their closed form in the planner.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "planner/snapshot_prefix.h"
#include "tests/simulator/snapshots/engine_cases.h"

namespace hybridkv::test {

TEST_CASE("law: the second copy of a prompt hits what the closed form says, wherever snapshots lie") {
  CHECK(rc::check("copies", [] {
    const auto between = [](std::int64_t least, std::int64_t most) { return *rc::gen::inRange(least, most + 1); };
    SnapshotPoints points;
    if (between(0, 1) == 1) points.interval_tokens = between(1, 150);
    for (std::int64_t i = between(0, 2); i > 0; --i) points.from_start.push_back(between(1, 300));
    for (std::int64_t i = between(0, 3); i > 0; --i) points.from_end.push_back(between(0, 100));
    points.at_branches = between(0, 3) == 0;
    PoolGroups groups;
    groups.points = points;
    groups.partial_reuse = between(0, 1) == 1;
    const std::int64_t block = std::int64_t(1) << between(1, 6), tokens = between(1, 400);
    SnapshotReplay replay({.blocks = 2000, .states = 2000, .block_tokens = block,
                           .chunk_tokens = between(1, 100), .points = points,
                           .partial_reuse = groups.partial_reuse});
    const std::vector<TokenRun> prompt = runs_of({{1, tokens}}, tokens);
    RC_ASSERT(replay.run({.index = 0, .input_length = tokens}, prompt).hit_tokens == 0);
    const std::int64_t hit = replay.run({.index = 1, .input_length = tokens}, prompt).hit_tokens;
    RC_ASSERT(hit == copied_snapshot_tokens(groups, block, tokens));
  }));
}

}  // namespace hybridkv::test
