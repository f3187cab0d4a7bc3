#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

#include "clock/engine_loop.h"
#include "clock/served_times.h"
#include "simulator/schedule/dependency_queue.h"
#include "simulator/schedule/simulation.h"
#include "simulator/trace/trace.h"

namespace hybridkv {

/// A trace through an engine's steps by a clock, once it is known what a cache found of each request: for caches that
/// are replayed without time, and for what would be without any cache. It takes requests in the order of the trace, in
/// which open loops come.
class ServedReplay {
 public:
  /// Pre: driver.clock. One request at a time is a closed loop with one in flight.
  explicit ServedReplay(const DriverSpec& driver);

  /// The next request of the trace, of whose prompt `found` tokens need not be computed; nothing: it is not served.
  void consume(const TraceRequest& request, std::span<const TokenRun> prompt,
               std::span<const TraceDependency> waits_for, std::optional<std::int64_t> found);
  /// Runs what is in flight to its end.
  ServedTimes finish();

 private:
  void submit(const TraceRequest& request, std::optional<std::int64_t> found);
  void step(double until);
  void advance_to(double seconds);
  std::int64_t in_flight() const { return loop_.num_running() + loop_.num_waiting(); }

  DriverSpec driver_;
  EngineLoop loop_;
  ServedTimes times_;
  DependencyQueue held_;
  std::unordered_map<std::int64_t, std::optional<std::int64_t>> found_;  // of requests that wait for others, by index
  std::unordered_map<std::int64_t, RequestTimes> requests_;  // in flight, by index
  double now_ = 0;
  double step_start_ = 0;
};

}  // namespace hybridkv
