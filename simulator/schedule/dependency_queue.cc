#include "simulator/schedule/dependency_queue.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace hybridkv {

bool DependencyQueue::announce(const TraceRequest& request, std::span<const TokenRun> prompt,
                               std::span<const TraceDependency> waits_for) {
  if (request.num_dependents > 0) awaited_[request.index].dependents = request.num_dependents;
  if (waits_for.empty()) return false;
  Waiting& waiting = held_[request.index];
  waiting.held = {request, {prompt.begin(), prompt.end()}};
  waiting.unmet = static_cast<std::int64_t>(waits_for.size());
  for (const TraceDependency& dependency : waits_for) {
    const auto found = awaited_.find(dependency.request);
    expects(found != awaited_.end(), "a request waits for one that was not announced");
    Awaited& awaited = found->second;
    --awaited.dependents;
    const std::optional<double>& time = dependency.at_end ? awaited.ended : awaited.submitted;
    if (time) {
      meet(request.index, *time + dependency.delay_seconds);
      forget_if_done(dependency.request);
    } else {
      awaited.waiters.push_back({request.index, dependency.at_end, dependency.delay_seconds});
    }
  }
  return true;
}

void DependencyQueue::happened(std::int64_t index, std::optional<double> Awaited::*time, bool at_end, double now) {
  const auto found = awaited_.find(index);
  if (found == awaited_.end()) return;
  Awaited& awaited = found->second;
  awaited.*time = now;
  std::erase_if(awaited.waiters, [&](const Awaited::Waiter& waiter) {
    if (waiter.at_end != at_end) return false;
    meet(waiter.request, now + waiter.delay_seconds);
    return true;
  });
  forget_if_done(index);
}

void DependencyQueue::meet(std::int64_t waiter, double earliest) {
  Waiting& waiting = held_.at(waiter);
  double& start = waiting.held.request.arrival_seconds;
  start = std::max(start, earliest);
  if (--waiting.unmet == 0) ready_.push({start, waiter});
}

void DependencyQueue::forget_if_done(std::int64_t index) {
  const Awaited& awaited = awaited_.at(index);
  if (awaited.dependents == 0 && awaited.waiters.empty()) awaited_.erase(index);
}

std::optional<double> DependencyQueue::next_ready() const {
  if (ready_.empty()) return std::nullopt;
  return ready_.top().seconds;
}

HeldRequest DependencyQueue::take_ready() {
  expects(!ready_.empty(), "no request is ready");
  const auto found = held_.find(ready_.top().request);
  ready_.pop();
  HeldRequest taken = std::move(found->second.held);
  held_.erase(found);
  return taken;
}

}  // namespace hybridkv
