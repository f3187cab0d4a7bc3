// A prompt and its copy in an empty tree, beside their closed form in the planner.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "planner/snapshot_prefix.h"
#include "tests/planner/random_points.h"
#include "tests/simulator/snapshots/engine_cases.h"

namespace hybridkv::test {

TEST_CASE("law: the second copy of a prompt hits what the closed form says, wherever snapshots lie") {
  CHECK(rc::check("copies", [] {
    const SnapshotPoints points = random_points(150, 300, 100);
    PoolGroups groups;
    groups.points = points;
    groups.partial_reuse = drawn(0, 1) == 1;
    const std::int64_t block = std::int64_t(1) << drawn(1, 6), tokens = drawn(1, 400);
    SnapshotReplay replay({.blocks = 2000, .states = 2000, .block_tokens = block,
                           .chunk_tokens = drawn(1, 100), .points = points,
                           .partial_reuse = groups.partial_reuse});
    const std::vector<TokenRun> prompt = runs_of({{1, tokens}}, tokens);
    RC_ASSERT(replay.run({.index = 0, .input_length = tokens}, prompt).hit_tokens == 0);
    const std::int64_t hit = replay.run({.index = 1, .input_length = tokens}, prompt).hit_tokens;
    RC_ASSERT(hit == copied_snapshot_tokens(groups, block, tokens));
  }));
}

}  // namespace hybridkv::test
