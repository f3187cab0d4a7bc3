// Load tests without time: what they sum up equals a run in which every step is taken by itself.
#include "clock/load_test.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <map>

#include "tests/clock/clock_cases.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// The same test step by step, with a time that every request looks at.
LoadFigures stepped(const LoadTest& test, const LoopRules& rules, const StepClock& clock) {
  const std::int64_t total = 10 * test.concurrency;
  EngineLoop loop(rules, clock.windows());
  std::map<std::int64_t, double> sent, first;
  double now = 0, waited = 0, output = 0;
  std::int64_t ended = 0;
  const auto send = [&] {
    const std::int64_t index = std::ssize(sent);
    if (index == total) return;
    sent[index] = now;
    loop.submit({.index = index, .prompt = test.input_tokens, .outputs = test.output_tokens});
  };
  loop.on_first_token = [&](std::int64_t index) { first[index] = now; };
  loop.on_end = [&](std::int64_t index) {
    waited += first[index] - sent[index];
    if (test.output_tokens > 1) output += (now - first[index]) / static_cast<double>(test.output_tokens - 1);
    ++ended;
  };
  for (std::int64_t i = 0; i < test.concurrency; ++i) send();
  while (!loop.idle()) {
    loop.next();
    now += clock.seconds(loop.middle(1));
    loop.complete(1);
    for (; ended > 0; --ended) send();
  }
  const auto all = static_cast<double>(total);
  return {waited / all + clock.first_token_seconds(), output / all, now};
}

LoopRules random_rules() {
  return {.budget = *rc::gen::inRange<std::int64_t>(300, 4000),
          .prompts_alone = *rc::gen::arbitrary<bool>(),
          .whole_prompts = *rc::gen::arbitrary<bool>(),
          .wait_steps = *rc::gen::element<std::int64_t>(0, 0, 3, 20),
          .wait_share = *rc::gen::element(0.2, 0.9),
          .poll_steps = *rc::gen::element<std::int64_t>(1, 7),
          .most_running = *rc::gen::inRange<std::int64_t>(1, 20),
          .cache_tokens = *rc::gen::element(0.0, 1000.0, 6000.0),
          .reserves_outputs = *rc::gen::arbitrary<bool>(),
          .ranks = *rc::gen::element<std::int64_t>(1, 1, 3),
          .balance_steps = *rc::gen::element<std::int64_t>(0, 6, 25)};
}

bool alike(double a, double b) { return std::abs(a - b) <= 1e-3 * std::max(a, b); }

}  // namespace

TEST_CASE("law: sums over groups of equal steps are those of a run that takes each by itself") {
  int preempted = 0;
  CHECK(rc::check([&] {
    const LoadTest test{.input_tokens = *rc::gen::inRange<std::int64_t>(1, 800),
                        .output_tokens = *rc::gen::inRange<std::int64_t>(1, 90),
                        .least_share = 1,
                        .concurrency = *rc::gen::inRange<std::int64_t>(1, 9)};
    LoopRules rules = random_rules();
    // Often all of them are admitted, and do not fit when they have generated.
    if (*rc::gen::arbitrary<bool>())
      rules.cache_tokens = static_cast<double>(std::max(test.concurrency * (test.input_tokens + test.output_tokens / 2),
                                                        test.input_tokens + test.output_tokens));
    const StepClock clock(some_hybrid(), {}, some_gpu(), {});
    const std::vector<LoadStep> steps = load_steps(test, rules, clock.windows());
    const LoadFigures grouped = figures_of(steps, clock), alone = stepped(test, rules, clock);
    double computed = 0;
    for (const LoadStep& step : steps) computed += step.batch.prompt_tokens * step.steps;
    // What gave way was computed again.
    preempted += computed > 10.0 * static_cast<double>(test.concurrency * test.input_tokens) ? 1 : 0;
    RC_ASSERT(alike(grouped.first_token, alone.first_token));
    RC_ASSERT(alike(grouped.output_token, alone.output_token));
    RC_ASSERT(alike(grouped.duration, alone.duration));
  }));
  CHECK(preempted > 0);
}

TEST_CASE("law: every prompt is computed once and every token generated once where nobody gives way") {
  CHECK(rc::check([] {
    const LoadTest test{.input_tokens = *rc::gen::inRange<std::int64_t>(1, 3000),
                        .output_tokens = *rc::gen::inRange<std::int64_t>(1, 90),
                        .least_share = 1,
                        .concurrency = *rc::gen::inRange<std::int64_t>(1, 9)};
    LoopRules rules = random_rules();
    rules.cache_tokens = 0;
    rules.ranks = 1;  // of several a batch has the rows of the fullest
    double prompts = 0, decoded = 0, ended = 0;
    for (const LoadStep& step : load_steps(test, rules, {})) {
      prompts += step.batch.prompt_tokens * step.steps;
      decoded += step.batch.decoding * step.steps;
      ended += (step.batch.sampled - step.batch.decoding) * step.steps;
    }
    const double requests = 10.0 * static_cast<double>(test.concurrency);
    RC_ASSERT(prompts == requests * static_cast<double>(test.input_tokens));
    RC_ASSERT(decoded == requests * static_cast<double>(test.output_tokens - 1));
    RC_ASSERT(ended == requests);
  }));
}

TEST_CASE("golden: prompts that run alone stop those who generate; beside others they do not") {
  const LoadTest test{.input_tokens = 1000, .output_tokens = 10, .least_share = 1, .concurrency = 2, .requests = 3};
  int mixed = 0, alone = 0;
  for (const LoadStep& step : load_steps(test, {.budget = 1500}, {}))
    mixed += step.batch.prompt_tokens > 0 && step.batch.decoding > 0 ? 1 : 0;
  for (const LoadStep& step : load_steps(test, {.budget = 1500, .prompts_alone = true}, {}))
    alone += step.batch.prompt_tokens > 0 && step.batch.decoding > 0 ? 1 : 0;
  CHECK(mixed > 0);
  CHECK(alone == 0);
}

TEST_CASE("edge: a request that does not fit the cache is served alone") {
  const LoadTest test{.input_tokens = 1000, .output_tokens = 10, .least_share = 1, .concurrency = 3, .requests = 3};
  double prompts = 0;
  for (const LoadStep& step : load_steps(test, {.cache_tokens = 900}, {})) {
    CHECK(step.batch.prompts + step.batch.decoding <= 1);
    prompts += step.batch.prompt_tokens;
  }
  CHECK(prompts == 3000);
}

TEST_CASE("edge: a load test has a client, a token in and one out at least") {
  const LoadTest least{.input_tokens = 1, .output_tokens = 1, .concurrency = 1};
  CHECK(unusable(least).empty());
  for (const auto number : {&LoadTest::input_tokens, &LoadTest::output_tokens, &LoadTest::concurrency}) {
    LoadTest none = least;
    none.*number = 0;
    CHECK(unusable(none) == "lengths and concurrency are at least 1");
  }
}
