#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "clock/load_test.h"

namespace hybridkv {

/// A load test that somebody ran, and what it took.
struct MeasuredRun {
  ClockModel model;
  ClockSplit split;
  GpuSpeed gpu;
  LoadTest test;
  LoopRules rules;
  double first_token = 0;   ///< mean seconds to the first token, > 0
  double output_token = 0;  ///< mean seconds per output token; 0: not measured
};

/// How far predictions are from what was measured, in percent of it; of no runs all are 0.
struct ClockError {
  std::size_t runs = 0;
  double first_token_median = 0;
  double first_token_p90 = 0;
  double output_token_median = 0;
  double output_token_p90 = 0;
  bool operator==(const ClockError&) const = default;
};

/// A step that somebody measured.
struct MeasuredStep {
  StepWorkload work;
  double seconds = 0;   ///< > 0
  bool served = false;  ///< by a server, with what its CPU does around the pass; else a forward pass by itself
};

/// What it takes by these coefficients.
double predicted_seconds(const MeasuredStep& step, const Coefficients& coefficients);

/// How far predicted steps are from what was measured, in percent of it; of no steps all are 0.
struct StepError {
  std::size_t steps = 0;
  double median = 0;
  double p90 = 0;
};

/// The error of a clock's coefficients on measured steps.
StepError step_error(std::span<const MeasuredStep> steps, const Coefficients& coefficients);

/// The error on steps that a calibration has not seen: one half by the other's. Nothing of four and fewer.
std::optional<StepError> step_error_apart(const Coefficients& engine, std::span<const MeasuredStep> steps);

/// Measured runs with the steps that a replay of each makes, whatever a step takes.
class ReplayedRuns {
 public:
  explicit ReplayedRuns(std::span<const MeasuredRun> runs);

  std::size_t size() const { return runs_.size(); }
  const MeasuredRun& measured(std::size_t run) const { return runs_[run].measured; }
  LoadFigures predicted(std::size_t run, const Coefficients& coefficients) const;
  ClockError error(const Coefficients& coefficients) const;
  /// log(predicted / measured), time to the first token and per output token of each run in turn.
  void log_ratios(const Coefficients& coefficients, std::vector<double>& ratios) const;

 private:
  struct Run {
    MeasuredRun measured;
    std::vector<LoadStep> steps;
    std::vector<StepWorkload> work;  // of each of them
  };
  std::vector<Run> runs_;
};

/// The error of pairs of predicted and measured figures.
ClockError error_of(std::span<const LoadFigures> predicted, std::span<const LoadFigures> measured);

/// All twelve coefficients from runs of many deployments of an engine: least squares of the logarithms, far-off runs
/// counting less, with a weak wish to stay where they start.
Coefficients fit_coefficients(const ReplayedRuns& runs);

/// The coefficients of an engine moved to one deployment by a run or two of it: four multipliers, of the first token,
/// of the work of prompts, of launches and of memory, each with a wish to stay 1 that says how well it is known.
/// Steps that were measured by themselves tell products, experts and launches apart, which then have multipliers of
/// their own; of what the CPU does and of the first token they say nothing.
Coefficients calibrated(const Coefficients& engine, const ReplayedRuns& own, std::span<const MeasuredStep> steps = {});

}  // namespace hybridkv
