#include "clock/least_first_token.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace hybridkv {

namespace {

/// Pairs of queries and keys within a window where every token is a step of its own.
double fewest_pairs(double tokens, double before, double window) {
  const double growing = std::clamp(window - before, 0.0, tokens);
  return growing * before + growing * growing / 2 + (tokens - growing) * window;
}

/// The whole prompt as one step, with the pairs of the finest cut.
StepBatch whole(const StepClock& clock, double tokens, double before) {
  StepBatch batch;
  add_prompt(batch, tokens, before, clock.windows());
  for (std::size_t i = 0; i < most_windows; ++i)
    batch.window_pairs[i] = fewest_pairs(tokens, before, static_cast<double>(clock.windows()[i]));
  batch.sampled = 1;
  return batch;
}

StepBatch whole(const StepClock& clock, const LeastPrompt& prompt) {
  return whole(clock, static_cast<double>(prompt.tokens - prompt.found), static_cast<double>(prompt.found));
}

}  // namespace

double least_prompt_seconds(const StepClock& clock, std::int64_t budget, const LeastPrompt& prompt) {
  const StepParts parts = clock.parts(whole(clock, prompt));
  const std::int64_t computed = prompt.tokens - prompt.found;
  const auto further_steps = static_cast<double>((computed + budget - 1) / budget - 1);
  // What a step with prompts takes whatever it computes, every further one again.
  const double each = parts[StepPart::launches] + parts[StepPart::eager] + parts[StepPart::scheduler];
  return parts.total() + further_steps * each + clock.first_token_seconds();
}

double own_machine_seconds(const StepClock& clock, const LeastPrompt& prompt) {
  StepWorkload work = clock.workload(whole(clock, prompt));
  // Scans grow evenly with the tokens from a start that all prompts of a step share.
  const auto computed = static_cast<double>(prompt.tokens - prompt.found);
  const double twice = clock.workload(whole(clock, 2 * computed, static_cast<double>(prompt.found))).scan_seconds;
  work.scan_seconds = twice - work.scan_seconds;
  for (OperatorWork* const shared : {&work.linears, &work.experts, &work.vocabulary, &work.attention_decode,
                                     &work.attention_prefill, &work.states})
    shared->byte_seconds = 0;
  work.allreduces = work.layers = work.moe_layers = work.mixer_layers = work.quant_layers = work.eager_layers = 0;
  const StepParts parts = StepClock::parts_of(work, clock.coefficients());
  return parts.total() - parts[StepPart::scheduler];
}

double least_mean_flow(std::span<const LeastPrompt> jobs, std::span<const double> works) {
  if (jobs.empty()) return 0;
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return jobs[a].arrival < jobs[b].arrival; });
  using Left = std::pair<double, std::size_t>;  // seconds of a job
  std::priority_queue<Left, std::vector<Left>, std::greater<>> waiting;
  double now = 0, flow = 0;
  for (std::size_t next = 0; next < order.size() || !waiting.empty();) {
    if (waiting.empty()) now = std::max(now, jobs[order[next]].arrival);
    while (next < order.size() && jobs[order[next]].arrival <= now) {
      waiting.push({works[order[next]], order[next]});
      ++next;
    }
    const auto [left, job] = waiting.top();
    waiting.pop();
    const double until = next < order.size() ? jobs[order[next]].arrival : now + left;
    if (now + left <= until) {
      now += left;
      flow += now - jobs[job].arrival;
    } else {
      waiting.push({left - (until - now), job});
      now = until;
    }
  }
  return flow / static_cast<double>(jobs.size());
}

}  // namespace hybridkv
