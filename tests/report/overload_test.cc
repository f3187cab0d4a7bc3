// An open loop that cannot keep up says so.
#include "report/overload.h"

#include <doctest/doctest.h>

using namespace hybridkv;

TEST_CASE("edge: more requests wait than ever ran at once, in an open loop alone") {
  SimulationStats stats;
  stats.max_running = 3;
  const DriverSpec open{.kind = DriverKind::open_loop}, closed{.kind = DriverKind::closed_loop};
  stats.series.add({.step = 0, .waiting_requests = 3});
  CHECK_FALSE(is_overloaded(open, stats));
  CHECK(overload_text(open, stats).empty());
  stats.series.add({.step = 1, .waiting_requests = 4});
  stats.series.add({.step = 2, .waiting_requests = 0});
  CHECK(is_overloaded(open, stats));
  CHECK(overload_text(open, stats).find("up to 4 wait where 3 run at most") != std::string::npos);
  CHECK_FALSE(is_overloaded(closed, stats));
}
