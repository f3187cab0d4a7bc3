#include "clock/clock_fit.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "base/quantile.h"
#include "clock/least_squares.h"

namespace hybridkv {

namespace {

/// A time to the first token is noisier than one per output token (3.3 against 0.6 % of equal runs), and means more.
constexpr double first_token_weight = 0.7;
/// Beyond it a residual counts by its size, no longer by its square.
constexpr double far_off = 0.15;

double softened(double residual) {
  const double scaled = residual / far_off;
  return std::copysign(far_off * std::sqrt(2 * (std::sqrt(1 + scaled * scaled) - 1)), residual);
}

/// What one number of a calibration multiplies, and the deviation of its logarithm among deployments.
struct Multiplier {
  double deviation;
  std::vector<Coefficient> times;
  std::vector<Coefficient> divides;
};

/// What two load tests tell apart. Deviations are those of the published deployments, each fitted to all of its runs.
const std::vector<Multiplier>& multipliers_of_runs() {
  using enum Coefficient;
  static const std::vector<Multiplier> all{
      {0.9, {ttft_ms}, {}},
      {0.36, {eager_layer_us}, {gemm_eff, moe_eff}},
      {0.29, {layer_us, moe_layer_us, mixer_layer_us, quant_layer_us, allreduce_us, step_ms, seq_us}, {}},
      {0.22, {}, {mem_eff}},
  };
  return all;
}

/// What steps measured by themselves tell apart besides.
const std::vector<Multiplier>& multipliers_of_steps() {
  using enum Coefficient;
  static const std::vector<Multiplier> all{
      {1, {ttft_ms}, {}},
      {0.6, {eager_layer_us}, {}},
      {0.6, {}, {gemm_eff}},
      {0.6, {}, {moe_eff}},
      {0.4, {layer_us, moe_layer_us, mixer_layer_us, quant_layer_us}, {}},
      {0.4, {allreduce_us}, {}},
      {0.4, {step_ms, seq_us}, {}},
      {0.2, {}, {mem_eff}},
  };
  return all;
}

Coefficients multiplied(const Coefficients& engine, const std::vector<Multiplier>& multipliers,
                        std::span<const double> logs) {
  Coefficients own = engine;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const double factor = std::exp(logs[i]);
    for (const Coefficient which : multipliers[i].times) own[which] *= factor;
    // No kernel does more than the machine can.
    for (const Coefficient which : multipliers[i].divides) own[which] = std::min(1.0, own[which] / factor);
  }
  return own;
}

}  // namespace

ReplayedRuns::ReplayedRuns(std::span<const MeasuredRun> runs) {
  for (const MeasuredRun& run : runs) runs_.push_back({.measured = run, .steps = {}, .work = {}});
  parallel_for(runs_.size(), [&](std::size_t i) {
    Run& run = runs_[i];
    const StepClock clock(run.measured.model, run.measured.split, run.measured.gpu, {});
    run.steps = load_steps(run.measured.test, run.measured.rules, clock.windows());
    for (const LoadStep& step : run.steps) run.work.push_back(clock.workload(step.batch));
  });
}

LoadFigures ReplayedRuns::predicted(std::size_t index, const Coefficients& coefficients) const {
  const Run& run = runs_[index];
  return figures_of(run.steps, coefficients[Coefficient::ttft_ms] * 1e-3,
                    [&](std::size_t i) { return StepClock::seconds_of(run.work[i], coefficients); });
}

ClockError ReplayedRuns::error(const Coefficients& coefficients) const {
  std::vector<LoadFigures> found(size()), truth(size());
  for (std::size_t i = 0; i < size(); ++i) {
    found[i] = predicted(i, coefficients);
    truth[i] = {measured(i).first_token, measured(i).output_token, 0};
  }
  return error_of(found, truth);
}

void ReplayedRuns::log_ratios(const Coefficients& coefficients, std::vector<double>& ratios) const {
  ratios.assign(2 * size(), 0);
  parallel_for(size(), [&](std::size_t i) {
    const LoadFigures figures = predicted(i, coefficients);
    const MeasuredRun& truth = measured(i);
    ratios[2 * i] = std::log(figures.first_token / truth.first_token);
    if (truth.output_token > 0) ratios[2 * i + 1] = std::log(figures.output_token / truth.output_token);
  });
}

ClockError error_of(std::span<const LoadFigures> predicted, std::span<const LoadFigures> measured) {
  std::vector<double> first, output;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    first.push_back(100 * std::abs(predicted[i].first_token / measured[i].first_token - 1));
    if (measured[i].output_token > 0)
      output.push_back(100 * std::abs(predicted[i].output_token / measured[i].output_token - 1));
  }
  return {.runs = measured.size(),
          .first_token_median = quantile(first, 0.5),
          .first_token_p90 = quantile(first, 0.9),
          .output_token_median = quantile(output, 0.5),
          .output_token_p90 = quantile(output, 0.9)};
}

Coefficients fit_coefficients(const ReplayedRuns& runs) {
  std::vector<BoundedValue> values;
  for (const CoefficientRange& range : coefficient_ranges)
    values.push_back({std::log(range.start), std::log(range.least), std::log(range.most)});
  const auto of = [](std::span<const double> logs) {
    Coefficients coefficients;
    for (const CoefficientRange& range : coefficient_ranges)
      coefficients[range.which] = std::exp(logs[static_cast<std::size_t>(range.which)]);
    return coefficients;
  };
  return of(least_squares(values, [&](std::span<const double> logs, std::vector<double>& residuals) {
    runs.log_ratios(of(logs), residuals);
    for (std::size_t i = 0; i < residuals.size(); ++i)
      residuals[i] = softened(residuals[i]) * (i % 2 == 0 ? first_token_weight : 1);
    for (std::size_t i = 0; i < logs.size(); ++i)
      residuals.push_back(coefficient_ranges[i].held * (logs[i] - values[i].start));
  }));
}

double predicted_seconds(const MeasuredStep& step, const Coefficients& coefficients) {
  return step.served ? StepClock::seconds_of(step.work, coefficients)
                     : StepClock::forward_seconds_of(step.work, coefficients);
}

StepError step_error(std::span<const MeasuredStep> steps, const Coefficients& coefficients) {
  std::vector<double> off;
  for (const MeasuredStep& step : steps)
    off.push_back(100 * std::abs(predicted_seconds(step, coefficients) / step.seconds - 1));
  return {.steps = steps.size(), .median = quantile(off, 0.5), .p90 = quantile(off, 0.9)};
}

std::optional<StepError> step_error_apart(const Coefficients& engine, std::span<const MeasuredStep> steps) {
  constexpr std::size_t fewest = 5;
  if (steps.size() < fewest) return std::nullopt;
  const ReplayedRuns no_runs({});
  std::vector<double> off;
  for (const std::size_t held_back : {0, 1}) {
    std::vector<MeasuredStep> seen, unseen;
    for (std::size_t i = 0; i < steps.size(); ++i) (i % 2 == held_back ? unseen : seen).push_back(steps[i]);
    const Coefficients half = calibrated(engine, no_runs, seen);
    for (const MeasuredStep& step : unseen) off.push_back(step_error({&step, 1}, half).median);
  }
  return StepError{.steps = steps.size(), .median = quantile(off, 0.5), .p90 = quantile(off, 0.9)};
}

Coefficients calibrated(const Coefficients& engine, const ReplayedRuns& own, std::span<const MeasuredStep> steps) {
  constexpr double widest = 3;
  // Steps of a server that decodes tell no more apart than its load tests do.
  const bool of_steps = std::any_of(steps.begin(), steps.end(), [](const MeasuredStep& step) { return !step.served; });
  const std::vector<Multiplier>& found = of_steps ? multipliers_of_steps() : multipliers_of_runs();
  const std::vector<BoundedValue> values(found.size(), {0, -widest, widest});
  // Two runs of a deployment agree in nine of ten cases to 12 % of a first token and to 8 % of a time per output token;
  // a step that is run again and again agrees better than its formula.
  constexpr double first_token_noise = 0.1, output_token_noise = 0.06, step_noise = 0.05;
  const auto residuals_of = [&](std::span<const double> logs, std::vector<double>& residuals) {
    const Coefficients coefficients = multiplied(engine, found, logs);
    own.log_ratios(coefficients, residuals);
    for (std::size_t i = 0; i < residuals.size(); ++i)
      residuals[i] /= i % 2 == 0 ? first_token_noise : output_token_noise;
    for (const MeasuredStep& step : steps)
      residuals.push_back(std::log(predicted_seconds(step, coefficients) / step.seconds) / step_noise);
    for (std::size_t i = 0; i < logs.size(); ++i) residuals.push_back(logs[i] / found[i].deviation);
  };
  return multiplied(engine, found, least_squares(values, residuals_of));
}

}  // namespace hybridkv
