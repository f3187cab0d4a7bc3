#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <span>
#include <unordered_map>
#include <vector>

#include "simulator/trace/trace.h"

namespace hybridkv {

/// A request with the prompt it came with.
struct HeldRequest {
  TraceRequest request;  ///< its arrival_seconds: when it may start
  std::vector<TokenRun> prompt;
};

/// Requests of a trace that wait for others, under a clock that the caller keeps.
///
/// A request may start at the latest of its own arrival and, of each dependency, the time of what it waits for plus the
/// delay. Memory grows with the requests that wait and those that others still have to wait for.
class DependencyQueue {
 public:
  /// A request of the trace, in the order of the trace: told even where it waits for nothing, since others may wait for
  /// it. True where it waits for something: it is kept, and comes out of take_ready.
  /// Pre: what it waits for was announced before.
  bool announce(const TraceRequest& request, std::span<const TokenRun> prompt,
                std::span<const TraceDependency> waits_for);
  /// The request was submitted; the request ended, however it did. Times in seconds.
  void submitted(std::int64_t index, double now) { happened(index, &Awaited::submitted, false, now); }
  void ended(std::int64_t index, double now) { happened(index, &Awaited::ended, true, now); }

  /// When the first of those that wait for nothing any more may start; nothing where there is none.
  std::optional<double> next_ready() const;
  /// That request. Pre: next_ready().
  HeldRequest take_ready();
  /// Requests that still wait or are ready.
  std::int64_t size() const { return static_cast<std::int64_t>(held_.size()); }

 private:
  /// A request that others wait for.
  struct Awaited {
    std::optional<double> submitted, ended;
    std::int64_t dependents = 0;  ///< dependencies that have not asked for it yet
    struct Waiter {
      std::int64_t request = 0;
      bool at_end = true;
      double delay_seconds = 0;
    };
    std::vector<Waiter> waiters;
  };
  struct Waiting {
    HeldRequest held;
    std::int64_t unmet = 0;
  };
  struct Ready {
    double seconds = 0;
    std::int64_t request = 0;
    bool operator>(const Ready& other) const {
      return seconds != other.seconds ? seconds > other.seconds : request > other.request;
    }
  };
  void happened(std::int64_t index, std::optional<double> Awaited::*time, bool at_end, double now);
  void meet(std::int64_t waiter, double earliest);
  void forget_if_done(std::int64_t index);

  std::unordered_map<std::int64_t, Awaited> awaited_;  // by index
  std::unordered_map<std::int64_t, Waiting> held_;     // by index
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
};

}  // namespace hybridkv
