#include "simulator/schedule/overload.h"

#include <algorithm>

namespace hybridkv {

std::optional<QueueOverload> overload_of(const DriverSpec& driver, const SimulationStats& stats) {
  if (driver.kind != DriverKind::open_loop) return std::nullopt;
  QueueOverload overload{.running = stats.max_running};
  for (const SeriesPoint& point : stats.series.points())
    overload.waiting = std::max(overload.waiting, point.waiting_requests);
  return overload.waiting > overload.running ? std::optional(overload) : std::nullopt;
}

std::optional<bool> is_overloaded(const DriverSpec& driver, const SimulationStats& stats) {
  if (driver.kind != DriverKind::open_loop) return std::nullopt;
  return overload_of(driver, stats).has_value();
}

}  // namespace hybridkv
