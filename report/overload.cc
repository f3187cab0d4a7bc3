#include "report/overload.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/human.h"

namespace hybridkv {

namespace {

std::int64_t most_waiting(const SimulationStats& stats) {
  std::int64_t most = 0;
  for (const SeriesPoint& point : stats.series.points()) most = std::max(most, point.waiting_requests);
  return most;
}

}  // namespace

bool is_overloaded(const DriverSpec& driver, const SimulationStats& stats) {
  return driver.kind == DriverKind::open_loop && most_waiting(stats) > stats.max_running;
}

std::string overload_text(const DriverSpec& driver, const SimulationStats& stats) {
  if (!is_overloaded(driver, stats)) return {};
  return fmt::format("overloaded: requests come faster than they are served, up to {} wait where {} run at most; "
                     "latencies say how long the trace is, not how fast the engine.",
                     human_count(most_waiting(stats)), human_count(stats.max_running));
}

}  // namespace hybridkv
