#include "clock/load_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace hybridkv {

namespace {

/// A length of the test: uniform between the shortest and the nominal one.
std::int64_t drawn_length(std::int64_t nominal, double least_share, std::uint64_t key) {
  const auto least = std::max<std::int64_t>(1, std::llround(least_share * static_cast<double>(nominal)));
  return least + static_cast<std::int64_t>(mix(key) % static_cast<std::uint64_t>(nominal - least + 1));
}

}  // namespace

std::string unusable(const LoadTest& test) {
  if (test.input_tokens < 1 || test.output_tokens < 1 || test.concurrency < 1)
    return "lengths and concurrency are at least 1";
  if (test.concurrency > most_clients) return fmt::format("more than {} clients", most_clients);
  if (std::max(test.input_tokens, test.output_tokens) > most_test_tokens)
    return fmt::format("more than {} tokens", most_test_tokens);
  return {};
}

LoopRequest request_of(const LoadTest& test, std::int64_t index) {
  const auto key = static_cast<std::uint64_t>(index);
  const auto drawn = [&](std::int64_t nominal, std::uint64_t which) {
    return drawn_length(nominal, test.least_share, mix(test.seed, which));
  };
  return {.index = index,
          .prompt = drawn(test.input_tokens, 2 * key),
          .outputs = drawn(test.output_tokens, 2 * key + 1)};
}

std::vector<LoadStep> load_steps(const LoadTest& test, const LoopRules& rules,
                                 const std::array<std::int64_t, most_windows>& windows) {
  const std::int64_t total = test.num_requests();
  const auto all = static_cast<double>(total);
  EngineLoop loop(rules, windows);
  std::vector<double> rates;  // of each request sent: what a second adds to the sum of times per output token
  double waiting = 0;         // requests sent whose first token is not out
  double rate = 0;            // of those whose first token is, together
  const auto send = [&] {
    const std::int64_t index = std::ssize(rates);
    if (index == total) return;
    const LoopRequest request = request_of(test, index);
    rates.push_back(request.outputs > 1 ? 1 / static_cast<double>(request.outputs - 1) : 0);
    waiting += 1;
    loop.submit(request);
  };
  std::int64_t ended = 0;
  loop.on_first_token = [&](std::int64_t index) {
    waiting -= 1;
    rate += rates[static_cast<std::size_t>(index)];
  };
  loop.on_end = [&](std::int64_t index) {
    rate -= rates[static_cast<std::size_t>(index)];
    ++ended;
  };
  for (std::int64_t i = 0; i < test.concurrency; ++i) send();
  std::vector<LoadStep> steps;
  while (!loop.idle()) {
    loop.next();
    const std::int64_t times = loop.most_steps();
    const auto number = static_cast<double>(times);
    steps.push_back({.batch = loop.middle(times),
                     .first_token = waiting * number / all,
                     .output_token = rate * number / all,
                     .steps = number});
    loop.complete(times);
    for (; ended > 0; --ended) send();
  }
  return steps;
}

LoadFigures figures_of(std::span<const LoadStep> steps, const StepClock& clock) {
  return figures_of(steps, clock.first_token_seconds(), [&](std::size_t i) { return clock.seconds(steps[i].batch); });
}

}  // namespace hybridkv
