#pragma once

#include <string>
#include <vector>

#include "ask/clock/served_clock.h"
#include "clock/clock_fit.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// A deployment whose clock is wanted, and load tests of it.
struct CalibrateQuestion {
  Scenario scenario;
  ClockQuestion served;
  std::vector<std::string> benches;  ///< JSON of the engine's load test; none: what to run is said
};

/// A load test, and what a clock makes of it. Seconds.
struct CalibratedRun {
  std::string file;
  LoadTest test;
  double first_token = 0, output_token = 0;  ///< measured
  LoadFigures before, after;                 ///< by the engine's clock, and by the calibrated one
};

struct CalibrateAnswer {
  ServedClock served;               ///< with the coefficients that were found; the engine's own without tests
  std::vector<CalibratedRun> runs;
  ClockError before;                ///< of the engine's clock on the tests
  std::vector<std::string> commands;  ///< the two tests to run, where none was given
};

/// Moves the clock of an engine to one deployment by load tests of it. Throws InputError for files that are none, and
/// as served_clock.
CalibrateAnswer calibrate(const CalibrateQuestion& question);

/// A load test as `vllm bench serve --save-result` and `sglang.bench_serving --output-file` write it, with what it
/// measured. Throws InputError with the key that is missing or wrong.
MeasuredRun read_bench(const std::string& file);

}  // namespace hybridkv
