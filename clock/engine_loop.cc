#include "clock/engine_loop.h"

#include <algorithm>
#include <limits>

namespace hybridkv {

EngineLoop::EngineLoop(const LoopRules& rules, const std::array<std::int64_t, most_windows>& windows)
    : ranks_(static_cast<std::size_t>(rules.ranks), RankLoop(rules, windows)),
      balance_steps_(rules.ranks > 1 ? rules.balance_steps : 0) {}

void EngineLoop::submit(const LoopRequest& request) {
  const auto in_flight = [](const RankLoop& rank) { return rank.num_running() + rank.num_waiting(); };
  std::min_element(ranks_.begin(), ranks_.end(), [&](const RankLoop& a, const RankLoop& b) {
    return in_flight(a) < in_flight(b);
  })->submit(request);
}

bool EngineLoop::idle() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const RankLoop& rank) { return rank.idle(); });
}

std::int64_t EngineLoop::waiting_tokens() const {
  std::int64_t sum = 0;
  for (const RankLoop& rank : ranks_) sum += rank.waiting_tokens();
  return sum;
}

std::int64_t EngineLoop::num_running() const {
  std::int64_t sum = 0;
  for (const RankLoop& rank : ranks_) sum += rank.num_running();
  return sum;
}

std::int64_t EngineLoop::num_waiting() const {
  std::int64_t sum = 0;
  for (const RankLoop& rank : ranks_) sum += rank.num_waiting();
  return sum;
}

bool EngineLoop::all_generate() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const RankLoop& rank) { return rank.generates(); });
}

bool EngineLoop::all_have_prompts() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const RankLoop& rank) { return rank.has_prompts(); });
}

void EngineLoop::next() {
  for (RankLoop& rank : ranks_) rank.look();
  waits_ = waited_ + 1 < balance_steps_ && all_generate() && !all_have_prompts();
  for (RankLoop& rank : ranks_)
    if (!rank.idle()) rank.next(!waits_, *this);
}

std::int64_t EngineLoop::most_steps() const {
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  for (const RankLoop& rank : ranks_)
    if (!rank.idle()) steps = std::min(steps, rank.most_steps());
  // The step after which a wait begins anew is by itself; one for nobody may run out and begin anew meanwhile.
  if (balance_steps_ > 0 && !waits_ && all_generate()) return 1;
  if (waits_ && num_waiting() > 0) steps = std::min(steps, balance_steps_ - 1 - waited_);
  return steps;
}

StepBatch EngineLoop::middle(std::int64_t steps) const {
  StepBatch fullest;
  double rows = 0, loads = 0, loads_beside = 0;
  for (const RankLoop& rank : ranks_) {
    if (rank.idle()) continue;
    const StepBatch batch = rank.middle(steps);
    rows += batch.rows();
    loads = std::max(loads, batch.loaded_seconds);
    loads_beside = std::max(loads_beside, batch.loaded_beside_seconds);
    if (batch.rows() > fullest.rows()) fullest = batch;
  }
  fullest.elsewhere_rows = rows - fullest.rows();
  fullest.loaded_seconds = loads;
  fullest.loaded_beside_seconds = loads_beside;
  return fullest;
}

void EngineLoop::complete(std::int64_t steps) {
  // The wait is counted whether or not anybody waits.
  if (balance_steps_ > 0) waited_ = waits_ ? (waited_ + steps) % balance_steps_ : 0;
  for (RankLoop& rank : ranks_)
    if (!rank.idle()) rank.complete(steps, *this);
}

}  // namespace hybridkv
