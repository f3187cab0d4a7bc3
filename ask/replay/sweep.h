#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ask/replay/sweep_point.h"
#include "scenarios/sweep_axes.h"

namespace hybridkv {

/// What is asked of every point beside its plan.
struct SweepQuestion {
  bool verify = false;    ///< each plan, as `verify` does
  bool simulate = false;  ///< the trace of the section simulate through each plan
};

/// The trace file that the first point replays; empty where none is read.
std::string sweep_trace_file(const ScenarioSweep& sweep, const SweepQuestion& question);

/// Do its points go by a clock? The first says it for all.
bool sweep_has_clock(const ScenarioSweep& sweep, const SweepQuestion& question);

/// Any text that two sweeps share exactly where they ask the same: what decides the points, and the bytes of the trace
/// file, shortened to a number, as a name alone could stand for anything. Throws InputError where it cannot be read.
std::string sweep_identity(const ScenarioSweep& sweep, const SweepQuestion& question);

/// Points that a thread answers at a time: what it makes between two looks at the others. A replay reads the trace once
/// for all of them.
std::int64_t sweep_piece_size(const SweepQuestion& question, std::int64_t points, std::int64_t threads);

/// Answers points of a sweep: plans them, verifies and replays them where that is asked. One per thread.
class SweepWorker {
 public:
  /// The sweep must outlive the worker.
  SweepWorker(const ScenarioSweep& sweep, const SweepQuestion& question);

  /// The answers in the order of the points. A point that cannot be planned, verified or replayed says why. Throws
  /// ResourceError where this machine is too small, InputError where the trace cannot be read. `look` is called about
  /// twice a second while a trace is replayed: what it throws ends the answer.
  std::vector<SweepPoint> answer(const std::vector<std::int64_t>& points, const std::function<void()>& look = {});

 private:
  SweepQuestion question_;
  SweepReader reader_;
};

}  // namespace hybridkv
