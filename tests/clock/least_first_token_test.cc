// What a first token takes at least: below every way to cut a prompt into steps, and below every order of service.
#include "clock/least_first_token.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "tests/clock/clock_cases.h"
#include "tests/close_to.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// The hybrid with another kind of attention, which sees a window.
StepClock windowed_clock() {
  ClockModel model = some_hybrid();
  model.attention.push_back(
      {.layers = 20, .prefill_flops = 32768, .decode_flops = 32768, .token_bytes = 2048, .window = 700});
  return {model, {.tensor_parallel = 2, .gpus = 2}, some_gpu(), {}};
}

/// Random numbers of a case.
class Draw {
 public:
  explicit Draw(std::uint64_t key) : key_(mix(0x36, key)) {}
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(mix(key_, ++count_) % static_cast<std::uint64_t>(end));
  }

 private:
  std::uint64_t key_;
  std::uint64_t count_ = 0;
};

/// The mean from arrival to end where jobs go on in the order of these positions, each to its end.
double flow_in_order(const std::vector<LeastPrompt>& jobs, const std::vector<double>& works,
                     const std::vector<std::size_t>& order) {
  double now = 0, flow = 0;
  for (const std::size_t job : order) {
    now = std::max(now, jobs[job].arrival) + works[job];
    flow += now - jobs[job].arrival;
  }
  return flow / static_cast<double>(jobs.size());
}

}  // namespace

TEST_CASE("law: no cut of a prompt into steps, and no fewer tokens found, is faster than the least") {
  const StepClock clock = windowed_clock();
  constexpr std::int64_t budget = 2048;
  for (std::uint64_t i = 0; i < 200; ++i) {
    Draw draw(i);
    const std::int64_t tokens = 1 + draw.below(20000), most_found = draw.below(tokens);
    const std::int64_t found = draw.below(most_found + 1);
    const double least = least_prompt_seconds(clock, budget, {0, tokens, most_found});
    double taken = clock.first_token_seconds();
    for (std::int64_t at = found; at < tokens;) {
      const std::int64_t step = std::min(tokens - at, 1 + draw.below(budget));
      StepBatch batch;
      add_prompt(batch, static_cast<double>(step), static_cast<double>(at), clock.windows());
      if (draw.below(2) == 0) add_decode(batch, 5000, clock.windows());
      at += step;
      if (at == tokens) batch.sampled += 1;
      taken += clock.seconds(batch);
    }
    CAPTURE(tokens);
    CAPTURE(most_found);
    CHECK(least <= taken * (1 + 1e-9));
    CHECK(own_machine_seconds(clock, {0, tokens, most_found}) < least);
  }
}

TEST_CASE("golden: a prompt of one step that is alone takes the least") {
  const StepClock clock({some_hybrid(), {}, some_gpu(), {}});
  StepBatch batch;
  add_prompt(batch, 1000, 3000, clock.windows());
  batch.sampled = 1;
  CHECK(least_prompt_seconds(clock, 8192, {0, 4000, 3000}) ==
        close_to(clock.seconds(batch) + clock.first_token_seconds()));
}

TEST_CASE("golden: a prompt that takes three steps pays three times what every step with prompts costs") {
  const auto least = [](const Coefficients& of, std::int64_t budget) {
    return least_prompt_seconds({some_hybrid(), {}, some_gpu(), of}, budget, {0, 3000, 0});
  };
  for (const Coefficient which : {Coefficient::layer_us, Coefficient::eager_layer_us, Coefficient::step_ms}) {
    Coefficients slower;
    slower[which] *= 2;
    const double of_one = least(slower, 8192) - least({}, 8192);
    CHECK(of_one > 0);
    CHECK(least(slower, 1000) - least({}, 1000) == close_to(3 * of_one));
  }
}

TEST_CASE("law: a step takes at least what its prompts take for themselves") {
  const StepClock clock = windowed_clock();
  for (std::uint64_t i = 0; i < 100; ++i) {
    Draw draw(1000 + i);
    StepBatch batch;
    double own = 0;
    for (std::int64_t prompts = 1 + draw.below(8); prompts > 0; --prompts) {
      const std::int64_t found = draw.below(5000), computed = 1 + draw.below(3000);
      add_prompt(batch, static_cast<double>(computed), static_cast<double>(found), clock.windows());
      batch.sampled += 1;
      own += own_machine_seconds(clock, {0, found + computed, found});
    }
    CHECK(own <= clock.seconds(batch) * (1 + 1e-9));
  }
}

TEST_CASE("law: no order of service has a lower mean than the least, which is reached where all come at once") {
  CHECK(least_mean_flow({}, {}) == 0);
  for (std::uint64_t i = 0; i < 100; ++i) {
    Draw draw(2000 + i);
    std::vector<LeastPrompt> jobs;
    std::vector<double> works;
    for (int job = 0; job < 6; ++job) {
      jobs.push_back({static_cast<double>(draw.below(i % 2 == 0 ? 1 : 20)), 1, 0});
      works.push_back(static_cast<double>(1 + draw.below(9)));
    }
    const double least = least_mean_flow(jobs, works);
    std::vector<std::size_t> order(jobs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    double best = 1e9;
    do best = std::min(best, flow_in_order(jobs, works, order));
    while (std::next_permutation(order.begin(), order.end()));
    CHECK(least <= best + 1e-9);
    if (i % 2 == 0) CHECK(least == doctest::Approx(best));
  }
}
