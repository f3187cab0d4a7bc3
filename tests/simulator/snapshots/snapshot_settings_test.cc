// The least of every setting of a cache with snapshots.
#include "simulator/snapshots/snapshot_settings.h"

#include <doctest/doctest.h>

#include "base/error.h"

namespace hybridkv::test {

TEST_CASE("edge: settings of a cache with snapshots are taken at their least, and refused below it by name") {
  SnapshotSettings least{.blocks = 1, .states = 1, .block_tokens = 1, .chunk_tokens = 1};
  least.points = {.interval_tokens = 0, .from_start = {1}, .from_end = {0}};
  CHECK_NOTHROW(least.check());
  const auto refused = [&](const char* message, auto&& change) {
    SnapshotSettings changed = least;
    change(changed);
    CHECK_THROWS_WITH_AS(changed.check(), message, SpecError);
  };
  refused("snapshots.blocks: must be at least 1, is 0", [](SnapshotSettings& s) { s.blocks = 0; });
  refused("snapshots.states: must be at least 1, is 0", [](SnapshotSettings& s) { s.states = 0; });
  refused("snapshots.block_tokens: must be at least 1, is 0", [](SnapshotSettings& s) { s.block_tokens = 0; });
  refused("snapshots.chunk_tokens: must be at least 1, is 0", [](SnapshotSettings& s) { s.chunk_tokens = 0; });
  refused("snapshots.interval_tokens: must be at least 0, is -1",
          [](SnapshotSettings& s) { s.points.interval_tokens = -1; });
  refused("snapshots.from_start: must be at least 1, is 0", [](SnapshotSettings& s) { s.points.from_start = {5, 0}; });
  refused("snapshots.from_end: must be at least 0, is -1", [](SnapshotSettings& s) { s.points.from_end = {0, -1}; });
}

}  // namespace hybridkv::test
