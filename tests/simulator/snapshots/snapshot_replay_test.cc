// Which states a cache with snapshots makes, by hand.
#include "simulator/snapshots/snapshot_replay.h"

#include <doctest/doctest.h>

#include "tests/simulator/snapshots/engine_cases.h"

namespace hybridkv::test {

TEST_CASE("edge: a copy of a prompt makes no second state where the first one left its own") {
  // At a whole block and within one. A copy finds neither, as its last token is always computed.
  for (const std::int64_t tokens : {64, 70}) {
    CAPTURE(tokens);
    SnapshotSettings settings{.blocks = 10, .states = 10};
    settings.points.from_end = {0};
    SnapshotReplay replay(settings);
    const std::vector<TokenRun> prompt = runs_of({{1, tokens}}, tokens);
    CHECK(replay.run({.index = 0, .input_length = tokens}, prompt).states_made == 1);
    const SnapshotRecord copy = replay.run({.index = 1, .input_length = tokens}, prompt);
    CHECK(copy.hit_tokens == 0);
    CHECK(copy.states_made == 0);
    CHECK(copy.tree_states == 1);
  }
}

}  // namespace hybridkv::test
