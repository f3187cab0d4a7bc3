#pragma once

#include <rapidcheck.h>

#include <cstdint>

#include "planner/snapshot_points.h"

namespace hybridkv::test {

/// A number from `least` to `most`, within a property.
inline std::int64_t drawn(std::int64_t least, std::int64_t most) { return *rc::gen::inRange(least, most + 1); }

/// Where snapshots are taken, perhaps nowhere: an interval up to `interval`, two offsets from the start up to `start`,
/// and three from the end up to `end`, at most.
inline SnapshotPoints random_points(std::int64_t interval, std::int64_t start, std::int64_t end) {
  SnapshotPoints points;
  if (drawn(0, 1) == 1) points.interval_tokens = drawn(1, interval);
  for (std::int64_t i = drawn(0, 2); i > 0; --i) points.from_start.push_back(drawn(1, start));
  for (std::int64_t i = drawn(0, 3); i > 0; --i) points.from_end.push_back(drawn(0, end));
  points.at_branches = drawn(0, 3) == 0;
  return points;
}

}  // namespace hybridkv::test
