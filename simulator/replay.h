#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "simulator/trace/trace.h"

namespace hybridkv {

/// One cache under a trace, whatever its index, or something else that looks at every request.
class Replay {
 public:
  virtual ~Replay() = default;
  /// The next requests of the trace.
  virtual void consume(const TraceBatch& batch) = 0;
  /// To be called once, after the last batch.
  virtual void finish() {}
};

/// How far replays are.
struct SweepProgress {
  std::int64_t requests = 0;   ///< of the trace that every replay has finished with
  double fraction = 0;         ///< of the trace, 0 where unknown
  double elapsed_seconds = 0;  ///< real time
  double requests_per_second() const {
    return elapsed_seconds > 0 ? static_cast<double>(requests) / elapsed_seconds : 0;
  }
  std::optional<double> remaining_seconds() const {
    if (fraction <= 0) return std::nullopt;
    return elapsed_seconds * (1 - fraction) / fraction;
  }
};

/// Reads a trace once and hands its batches to all replays, on several cores (`threads`: 0 = as many as the machine
/// has). Each replay takes the batches in order and one at a time, so that results do not depend on the number of
/// threads. Holds a few batches of the trace at a time. `on_progress`, where set, is called about twice a second and at
/// the end, from one thread at a time. Throws what the trace or a replay throws.
void run_replays(TraceSource& trace, const std::vector<std::unique_ptr<Replay>>& replays, std::int64_t threads = 0,
                 const std::function<void(const SweepProgress&)>& on_progress = {});

}  // namespace hybridkv
