#include "clock/engine_loop.h"

#include <algorithm>
#include <limits>

namespace hybridkv {

EngineLoop::EngineLoop(const LoopRules& rules, const std::array<std::int64_t, most_windows>& windows)
    : ranks_(static_cast<std::size_t>(rules.ranks), RankLoop(rules, windows)) {}

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

void EngineLoop::next() {
  for (RankLoop& rank : ranks_)
    if (!rank.idle()) rank.next(*this);
}

std::int64_t EngineLoop::most_steps() const {
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  for (const RankLoop& rank : ranks_)
    if (!rank.idle()) steps = std::min(steps, rank.most_steps());
  return steps;
}

StepBatch EngineLoop::middle(std::int64_t steps) const {
  StepBatch fullest;
  double rows = 0;
  for (const RankLoop& rank : ranks_) {
    if (rank.idle()) continue;
    const StepBatch batch = rank.middle(steps);
    rows += batch.rows();
    if (batch.rows() > fullest.rows()) fullest = batch;
  }
  fullest.elsewhere_rows = rows - fullest.rows();
  return fullest;
}

void EngineLoop::complete(std::int64_t steps) {
  for (RankLoop& rank : ranks_)
    if (!rank.idle()) rank.complete(steps, *this);
}

}  // namespace hybridkv
