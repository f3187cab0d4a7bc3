// What a tree of blocks with snapshots finds of a prompt, by hand.
#include "simulator/snapshots/snapshot_tree.h"

#include <doctest/doctest.h>

#include "tests/simulator/snapshots/engine_cases.h"

namespace hybridkv::test {

TEST_CASE("edge: a part of a block is found where another piece of content begins with the block") {
  // Content changes at 32, where the second block begins, and both prompts go on alike up to 42.
  SnapshotSettings settings{.blocks = 10, .states = 10};
  settings.points.from_end = {0};
  SnapshotReplay replay(settings);
  const std::vector<TokenRun> first = runs_of({{1, 32}, {5000, 20}}, 52);
  const std::vector<TokenRun> second = runs_of({{1, 32}, {5000, 10}, {9000, 10}}, 52);
  replay.run({.index = 0, .input_length = 52}, first);
  CHECK(replay.run({.index = 1, .input_length = 52}, second).content_tokens == 42);
}

}  // namespace hybridkv::test
