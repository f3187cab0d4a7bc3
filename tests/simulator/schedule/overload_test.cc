// An open loop that cannot keep up.
#include "simulator/schedule/overload.h"

#include <doctest/doctest.h>

using namespace hybridkv;

TEST_CASE("edge: more requests wait than ever ran at once, in an open loop alone") {
  SimulationStats stats;
  stats.max_running = 3;
  const DriverSpec open{.kind = DriverKind::open_loop}, closed{.kind = DriverKind::closed_loop};
  stats.series.add({.step = 0, .waiting_requests = 3});
  CHECK(!overload_of(open, stats).has_value());
  CHECK(is_overloaded(open, stats) == false);
  stats.series.add({.step = 1, .waiting_requests = 4});
  stats.series.add({.step = 2, .waiting_requests = 0});
  CHECK(overload_of(open, stats) == QueueOverload{.waiting = 4, .running = 3});
  CHECK(is_overloaded(open, stats) == true);
  CHECK(!overload_of(closed, stats).has_value());
  CHECK(!is_overloaded(closed, stats).has_value());
}
