#include "ask/clock/time_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate.h"
#include "base/error.h"
#include "clock/least_first_token.h"
#include "simulator/blocks/cache_geometry.h"
#include "simulator/losses/token_exact_bound.h"
#include "simulator/trace/trace_spec.h"

namespace hybridkv {

namespace {

/// The prompts that an engine takes, with the most that could be found of each.
struct LeastPrompts {
  std::vector<LeastPrompt> prompts;
  bool wait = false;  ///< some for others
};

LeastPrompts least_prompts(const TraceSpec& spec, std::optional<std::int64_t> max_model_len, double rate) {
  LeastPrompts all;
  const auto read = [&](const auto& take) {
    const std::unique_ptr<TraceSource> trace = open_trace(spec);
    for (TraceBatch batch; trace->next(batch);)
      for (const TraceRequest& request : batch.requests)
        if (!refused_for_length(request.input_length, max_model_len)) take(request, batch.prompt(request));
  };
  TokenExactBound before;
  read([&](const TraceRequest& request, std::span<const TokenRun> prompt) {
    all.prompts.push_back({request.arrival_seconds / rate, request.input_length, before.match(prompt)});
    all.wait = all.wait || request.num_dependencies > 0;
  });
  if (!all.wait) return all;
  // Who waits may come behind a later request of the trace, and find what that one began with.
  std::vector<std::vector<TokenRun>> prompts;
  read([&](const TraceRequest&, std::span<const TokenRun> prompt) {
    prompts.emplace_back(prompt.begin(), prompt.end());
  });
  TokenExactBound behind;
  for (std::size_t i = prompts.size(); i-- > 0;)
    all.prompts[i].found = std::max(all.prompts[i].found, behind.match(prompts[i]));
  return all;
}

}  // namespace

TimeBound time_bound(Scenario scenario, const TimedQuestion& question) {
  const std::vector<AnyCache> caches = planned_caches(scenario);
  const AnyCache& cache = caches.front();
  TimeBound bound{.timed = set_clock(scenario, cache, question)};
  const DriverSpec& driver = scenario.simulate.driver;
  if (driver.kind != DriverKind::open_loop)
    throw InputError("--gpu: a first token is bounded for requests that come by their times; leave --driver out");
  const SimulateAnswer replayed = simulate(
      {.request = scenario.simulate, .caches = {cache}, .timed = bound.timed, .uncached = false});
  const ServedTimes& times = *replayed.caches.front().times;
  const LeastPrompts least = least_prompts(scenario.simulate.trace, max_model_len_of(cache), question.rate);
  bound.requests = std::ssize(least.prompts);
  bound.replayed = times.first_token.mean();
  if (times.requests() != bound.requests)
    throw InputError(fmt::format("--gpu: {} of {} requests are not served in this memory, so a mean is not of the same "
                                 "ones; give more memory", bound.requests - times.requests(), bound.requests));
  const StepClock& clock = *driver.clock;
  std::vector<double> works;
  for (const LeastPrompt& prompt : least.prompts) {
    bound.alone += least_prompt_seconds(clock, driver.loop.budget, prompt);
    works.push_back(own_machine_seconds(clock, prompt));
  }
  bound.alone /= std::max(1.0, static_cast<double>(bound.requests));
  if (!least.wait) bound.in_best_order = least_mean_flow(least.prompts, works) + clock.first_token_seconds();
  return bound;
}

}  // namespace hybridkv
