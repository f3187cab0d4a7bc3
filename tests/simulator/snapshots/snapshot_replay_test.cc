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

TEST_CASE("edge: a piece without room for a copy leaves nothing behind, and the request's own page is kept instead") {
  // The prompt holds all three blocks; the copy of the last six tokens with their state would take a fourth.
  SnapshotSettings settings{.blocks = 3, .states = 10};
  settings.points.from_end = {0};
  SnapshotReplay replay(settings);
  const SnapshotRecord first = replay.run({.index = 0, .input_length = 70}, runs_of({{1, 70}}, 70));
  CHECK(first.status == RequestStatus::ok);
  CHECK(first.states_made == 0);
  CHECK(first.tree_blocks == 3);
  CHECK(first.free_blocks == 0);
  CHECK(replay.run({.index = 1, .input_length = 71}, runs_of({{1, 71}}, 71)).attention_tokens == 70);
}

}  // namespace hybridkv::test
