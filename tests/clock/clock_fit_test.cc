// Fits find coefficients that were planted, and calibration what differs of one deployment.
#include "clock/clock_fit.h"

#include <doctest/doctest.h>

#include <cmath>

#include "clock/shape_counter.h"
#include "tests/clock/clock_cases.h"
#include "tests/close_to.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Runs of several models, lengths and loads, which take as long as these coefficients say.
std::vector<MeasuredRun> runs_of(const Coefficients& truth) {
  std::vector<MeasuredRun> runs;
  for (const bool dense : {false, true})
    for (const std::int64_t ranks : {1, 4})
      for (const std::int64_t input : {1024, 8192})
        for (const std::int64_t concurrency : {4, 64}) {
          MeasuredRun run;
          run.model = some_hybrid();
          if (dense) {
            run.model.experts = run.model.moe_layers = 0;
            run.model.expert_parameters = 0;
            run.model.states.clear();
            run.model.dense_parameters = 3e10;
          }
          run.split = {ranks, ranks};
          run.gpu = some_gpu();
          run.test = {.input_tokens = input, .output_tokens = 256, .concurrency = concurrency};
          const StepClock clock(run.model, run.split, run.gpu, truth);
          const LoadFigures figures = figures_of(load_steps(run.test, run.rules, clock.windows()), clock);
          run.first_token = figures.first_token;
          run.output_token = figures.output_token;
          runs.push_back(run);
        }
  return runs;
}

Coefficients planted() {
  Coefficients truth;
  truth[Coefficient::gemm_eff] = 0.4;
  truth[Coefficient::moe_eff] = 0.15;
  truth[Coefficient::mem_eff] = 0.85;
  truth[Coefficient::layer_us] = 30;
  truth[Coefficient::eager_layer_us] = 400;
  truth[Coefficient::ttft_ms] = 20;
  return truth;
}

}  // namespace

TEST_CASE("golden: coefficients that were planted are found again") {
  const std::vector<MeasuredRun> once = runs_of(planted());
  std::vector<MeasuredRun> many;
  for (int i = 0; i < 5; ++i) many.insert(many.end(), once.begin(), once.end());
  const ReplayedRuns few_runs(once), runs(many);
  const ClockError before = runs.error({}), after = runs.error(fit_coefficients(runs));
  CHECK(before.first_token_median > 15);
  CHECK(after.first_token_median < before.first_token_median / 3);
  CHECK(after.output_token_median < before.output_token_median / 3);
  // What is known before any run, where coefficients start, counts the less the more runs there are.
  const ClockError of_few = runs.error(fit_coefficients(few_runs));
  CHECK(of_few.first_token_median < before.first_token_median / 2);
  CHECK(of_few.first_token_median > after.first_token_median);
  CHECK(of_few.output_token_median > after.output_token_median);
}

TEST_CASE("golden: two runs move a clock to a deployment that is slower in each of the four ways") {
  using enum Coefficient;
  struct Slower {
    std::vector<Coefficient> times, divides;
    double factor;
  };
  for (const auto& [times, divides, factor] :
       {Slower{{ttft_ms}, {}, 5}, Slower{{eager_layer_us}, {gemm_eff, moe_eff}, 1.7},
        Slower{{layer_us, moe_layer_us, mixer_layer_us, quant_layer_us, allreduce_us, step_ms, seq_us}, {}, 2.5},
        Slower{{}, {mem_eff}, 1.3}}) {
    CAPTURE(factor);
    Coefficients truth;
    for (const Coefficient which : times) truth[which] *= factor;
    for (const Coefficient which : divides) truth[which] /= factor;
    std::vector<MeasuredRun> all = runs_of(truth);
    // On four ranks, where launches are much of a step.
    const std::vector<MeasuredRun> own{all[4], all[6]}, others{all[5], all[7]};
    const ReplayedRuns apart(others);
    const ClockError before = apart.error({}), after = apart.error(calibrated({}, ReplayedRuns(own)));
    CHECK(after.first_token_p90 + after.output_token_p90 < 0.75 * (before.first_token_p90 + before.output_token_p90));
  }
}

TEST_CASE("law: two runs say the same of a deployment in whichever order they come") {
  MeasuredRun slow = runs_of({})[4], fast = slow;
  // They contradict each other, so that one that counted more would be followed.
  slow.first_token *= 1.5;
  slow.output_token *= 1.5;
  fast.first_token /= 1.5;
  fast.output_token /= 1.5;
  const std::vector<MeasuredRun> slow_first{slow, fast}, fast_first{fast, slow};
  const Coefficients one = calibrated({}, ReplayedRuns(slow_first)), other = calibrated({}, ReplayedRuns(fast_first));
  for (const CoefficientRange& range : coefficient_ranges)
    CHECK(one[range.which] == close_to(other[range.which], 0.01));
}

TEST_CASE("golden: steps measured by themselves tell products, experts, memory and launches apart") {
  Coefficients truth = planted();
  truth[Coefficient::allreduce_us] = 12;
  const StepClock clock(some_hybrid(), {4, 4}, some_gpu(), truth);
  std::vector<MeasuredStep> steps;
  for (const StepShape& shape : telling_shapes(256, 100'000, 0)) {
    const StepWorkload work = clock.workload(forward_batch(shape, clock.windows()));
    steps.push_back({work, StepClock::forward_seconds_of(work, truth)});
  }
  const Coefficients found = calibrated({}, ReplayedRuns({}), steps);
  CHECK(step_error(steps, {}).median > 5);
  CHECK(step_error(steps, found).median < 2);
  CHECK(step_error(steps, found).p90 < 5);
  CHECK(step_error_apart({}, steps)->median < 4);
  for (const Coefficient which : {Coefficient::moe_eff, Coefficient::mem_eff, Coefficient::layer_us})
    CHECK(std::abs(std::log(found[which] / truth[which])) < 0.25);
  // Of the CPU and of the first token they say nothing.
  for (const Coefficient which : {Coefficient::ttft_ms, Coefficient::eager_layer_us, Coefficient::step_ms})
    CHECK(found[which] == doctest::Approx(Coefficients()[which]));
  CHECK_FALSE(step_error_apart({}, std::span(steps).first(4)).has_value());
}

TEST_CASE("law: time that a step does not tell apart counts for products and for experts alike") {
  // By the coefficients of the engine products at half of the peak take 1 ms, and experts at a quarter of it too.
  MeasuredStep step;
  step.work.linears.flop_seconds = 0.5e-3;
  step.work.experts.flop_seconds = 0.25e-3;
  step.seconds = 3e-3;
  const Coefficients found = calibrated({}, ReplayedRuns({}), {&step, 1});
  CHECK(predicted_seconds(step, found) == close_to(3e-3, 0.01));
  CHECK(found[Coefficient::moe_eff] / 0.25 == doctest::Approx(found[Coefficient::gemm_eff] / 0.5).epsilon(0.01));
}

TEST_CASE("edge: a calibrated share of a peak is never above it") {
  Coefficients truth;
  truth[Coefficient::mem_eff] = 0.95;
  std::vector<MeasuredRun> runs = runs_of(truth);
  for (MeasuredRun& run : runs) run.output_token *= 0.5;
  const Coefficients found = calibrated(truth, ReplayedRuns(runs));
  CHECK(found[Coefficient::mem_eff] <= 1);
  CHECK(found[Coefficient::gemm_eff] <= 1);
}

TEST_CASE("golden: errors are shares of what was measured, half of them below the median") {
  const std::vector<LoadFigures> measured(4, {1, 0.1, 0});
  const std::vector<LoadFigures> predicted{{1.1, 0.1, 0}, {0.8, 0.1, 0}, {1.3, 0.12, 0}, {1.4, 0.05, 0}};
  const ClockError error = error_of(predicted, measured);
  CHECK(error.runs == 4);
  CHECK(error.first_token_median == doctest::Approx(30));
  CHECK(error.first_token_p90 == doctest::Approx(40));
  CHECK(error.output_token_p90 == doctest::Approx(50));
}
