#pragma once

#include <string>
#include <vector>

#include "ask/clock/served_clock.h"
#include "clock/clock_fit.h"
#include "clock/forward_file.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// A deployment whose clock is wanted, and what was measured of it.
struct CalibrateQuestion {
  Scenario scenario;  ///< with a clock (SimulateRequest::clock)
  std::vector<std::string> benches;   ///< JSON of the engine's load test; where there is no file, what to run is said
  std::vector<std::string> forwards;  ///< JSON of the engine's benchmark of forward passes (parse_forward)
  std::vector<std::string> logs;      ///< what the engine printed as it served (read_decode_log)

  bool has_files() const { return !benches.empty() || !forwards.empty() || !logs.empty(); }
};

/// A load test, and what a clock makes of it. Seconds.
struct CalibratedRun {
  std::string file;
  LoadTest test;
  double first_token = 0, output_token = 0;  ///< measured
  LoadFigures before, after;                 ///< by the engine's clock, and by the calibrated one
};

/// A step, and what a clock makes of it. Seconds.
struct CalibratedStep {
  MeasuredShape measured;
  bool served = false;  ///< of a log; else a forward pass by itself
  double before = 0, after = 0;
};

struct CalibrateAnswer {
  ServedClock served;               ///< with the coefficients that were found; the engine's own without tests
  std::vector<CalibratedRun> runs;
  ClockError before;                ///< of the engine's clock on the tests
  std::vector<CalibratedStep> steps;
  StepError step_before, step_after;  ///< of the engine's clock and of the calibrated one on the steps
  std::optional<StepError> step_apart;  ///< on steps that a calibration has not seen; nothing of few
  std::vector<std::string> commands;  ///< the two tests to run, where none was given
};

/// Moves the clock of an engine to one deployment by load tests of it, by forward passes, by its log, or by all.
/// Throws InputError for files that are none, and as served_clock.
CalibrateAnswer calibrate(const CalibrateQuestion& question);

/// A load test as `vllm bench serve --save-result` and `sglang.bench_serving --output-file` write it, with what it
/// measured. Throws InputError with the key that is missing or wrong.
MeasuredRun read_bench(const std::string& file);

}  // namespace hybridkv
