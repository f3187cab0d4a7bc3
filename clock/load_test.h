#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "clock/engine_loop.h"
#include "clock/step_clock.h"

namespace hybridkv {

/// A load test without a cache of prefixes: so many clients, each of whom sends its next request as soon as its last
/// one ended. Lengths are uniform between a share of the nominal ones and these.
struct LoadTest {
  std::int64_t input_tokens = 0;   ///< of the longest prompt, >= 1
  std::int64_t output_tokens = 0;  ///< of the longest output, >= 1
  double least_share = 0.8;        ///< of the shortest, (0, 1]
  std::int64_t concurrency = 1;    ///< clients, all of whom begin at once
  std::int64_t requests = 0;       ///< 0: ten of each client
  std::int64_t num_requests() const { return requests > 0 ? requests : 10 * concurrency; }
  std::uint64_t seed = 1;
};

/// More clients and longer lengths are no test that anybody ran.
inline constexpr std::int64_t most_clients = 100'000;
inline constexpr std::int64_t most_test_tokens = 100'000'000;

/// The request of that number, from 0.
LoopRequest request_of(const LoadTest& test, std::int64_t index);

/// Why nobody runs such a test; empty: somebody may.
std::string unusable(const LoadTest& test);

/// Equal steps of a load test, and what a second of one adds to its figures.
struct LoadStep {
  StepBatch batch;             ///< at the middle of the steps
  double first_token = 0;      ///< seconds of mean time to the first token, a second of a step
  double output_token = 0;     ///< seconds of mean time per output token
  double steps = 0;
};

/// All steps of the test in order. In a closed loop the order of events does not depend on how long a step takes, so
/// that the figures of any clock are sums over these.
std::vector<LoadStep> load_steps(const LoadTest& test, const LoopRules& rules,
                                 const std::array<std::int64_t, most_windows>& windows);

/// Means over all requests, those of the start included, in seconds.
struct LoadFigures {
  double first_token = 0;   ///< from sending to the first token
  double output_token = 0;  ///< (end - first token) / (output tokens - 1)
  double duration = 0;      ///< of the whole test
};

/// The figures where a step i takes `seconds(i)`, and a first token `late` seconds more to its client.
template <class Seconds>
LoadFigures figures_of(std::span<const LoadStep> steps, double late, Seconds&& seconds) {
  LoadFigures figures{.first_token = late};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double each = seconds(i);
    figures.first_token += steps[i].first_token * each;
    figures.output_token += steps[i].output_token * each;
    figures.duration += steps[i].steps * each;
  }
  return figures;
}

/// The same by a clock.
LoadFigures figures_of(std::span<const LoadStep> steps, const StepClock& clock);

}  // namespace hybridkv
