#include "simulator/trace/held_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/error.h"

namespace hybridkv {

std::int64_t HeldTrace::add(const TraceRequest& request, std::vector<TokenRun> prompt, PromptThread& thread) {
  Entry entry{.request = request, .base = thread.last, .first_own = std::ssize(runs_)};
  const auto [here, there] = std::mismatch(prompt.begin(), prompt.end(), thread.runs.begin(), thread.runs.end());
  entry.shared = here - prompt.begin();
  if (std::ssize(runs_) + (prompt.end() - here) > most_runs)
    throw InputError(fmt::format("the requests up to here take more than {} MiB, and all must be held to be put in "
                                 "order of time; give the trace in parts, say by head -n",
                                 most_runs * static_cast<std::int64_t>(sizeof(TokenRun)) >> 20));
  entry.request.num_runs = std::ssize(prompt);
  runs_.insert(runs_.end(), here, prompt.end());
  entries_.push_back(entry);
  thread.last = size() - 1;
  thread.runs = std::move(prompt);
  return thread.last;
}

void HeldTrace::add_dependency(std::int64_t waiting, const TraceDependency& dependency) {
  edges_.push_back({waiting, dependency});
  ++entries_[static_cast<std::size_t>(dependency.request)].request.num_dependents;
}

std::int64_t HeldTrace::order_dependencies() {
  std::stable_sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) { return a.waiting < b.waiting; });
  first_edge_.assign(entries_.size() + 1, 0);
  for (const Edge& edge : edges_) ++first_edge_[static_cast<std::size_t>(edge.waiting) + 1];
  std::partial_sum(first_edge_.begin(), first_edge_.end(), first_edge_.begin());
  std::vector<std::int64_t> unmet(entries_.size()), first_waiter(entries_.size() + 1), waiter(edges_.size());
  for (const Edge& edge : edges_) ++first_waiter[static_cast<std::size_t>(edge.dependency.request) + 1];
  std::partial_sum(first_waiter.begin(), first_waiter.end(), first_waiter.begin());
  std::vector<std::int64_t> filled = first_waiter;
  for (std::size_t i = 0; i < edges_.size(); ++i)
    waiter[static_cast<std::size_t>(filled[static_cast<std::size_t>(edges_[i].dependency.request)]++)] =
        static_cast<std::int64_t>(i);
  std::vector<std::int64_t> free;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    unmet[i] = first_edge_[i + 1] - first_edge_[i];
    if (unmet[i] == 0) free.push_back(static_cast<std::int64_t>(i));
  }
  for (std::size_t at = 0; at < free.size(); ++at) {
    const auto number = static_cast<std::size_t>(free[at]);
    entries_[number].place = static_cast<std::int64_t>(at);
    for (std::int64_t i = first_waiter[number]; i < first_waiter[number + 1]; ++i) {
      const Edge& edge = edges_[static_cast<std::size_t>(waiter[static_cast<std::size_t>(i)])];
      Entry& waiting = entries_[static_cast<std::size_t>(edge.waiting)];
      waiting.request.arrival_seconds =
          std::max(waiting.request.arrival_seconds,
                   entries_[number].request.arrival_seconds + edge.dependency.delay_seconds);
      if (--unmet[static_cast<std::size_t>(edge.waiting)] == 0) free.push_back(edge.waiting);
    }
  }
  if (free.size() == entries_.size()) return -1;
  // Going back along what is not met ends in a circle.
  std::int64_t number = std::find_if(unmet.begin(), unmet.end(), [](std::int64_t left) { return left > 0; }) -
                        unmet.begin();
  for (std::size_t steps = 0; steps < entries_.size(); ++steps)
    for (std::int64_t i = first_edge_[static_cast<std::size_t>(number)];; ++i) {
      const std::int64_t before = edges_[static_cast<std::size_t>(i)].dependency.request;
      if (unmet[static_cast<std::size_t>(before)] == 0) continue;
      number = before;
      break;
    }
  return number;
}

std::int64_t HeldTrace::put_in_order() {
  if (edges_.empty()) {
    for (std::size_t i = 0; i < entries_.size(); ++i) entries_[i].place = static_cast<std::int64_t>(i);
    first_edge_.assign(entries_.size() + 1, 0);
  } else if (const std::int64_t circular = order_dependencies(); circular >= 0) {
    return circular;
  }
  order_.resize(entries_.size());
  std::iota(order_.begin(), order_.end(), std::int64_t{0});
  const auto key = [&](std::int64_t number) {
    const Entry& entry = entries_[static_cast<std::size_t>(number)];
    return std::tuple(entry.request.arrival_seconds, entry.place);
  };
  std::sort(order_.begin(), order_.end(), [&](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
  index_.resize(entries_.size());
  for (std::size_t i = 0; i < order_.size(); ++i)
    index_[static_cast<std::size_t>(order_[i])] = static_cast<std::int64_t>(i);
  return -1;
}

bool HeldTrace::next(TraceBatch& batch) {
  if (next_ == order_.size()) return false;
  const auto number = static_cast<std::size_t>(order_[next_]);
  TraceRequest request = entries_[number].request;
  request.index = static_cast<std::int64_t>(next_);
  request.first_run = std::ssize(batch.runs);
  batch.runs.resize(batch.runs.size() + static_cast<std::size_t>(request.num_runs));
  const auto prompt = batch.runs.end() - request.num_runs;
  const Entry* from = &entries_[number];
  for (std::int64_t end = request.num_runs; end > 0; from = &entries_[static_cast<std::size_t>(from->base)]) {
    const auto own = runs_.begin() + from->first_own;
    if (end > from->shared) std::copy(own, own + (end - from->shared), prompt + from->shared);
    end = std::min(end, from->shared);
    if (end == 0) break;
  }
  request.first_dependency = std::ssize(batch.dependencies);
  for (std::int64_t i = first_edge_[number]; i < first_edge_[number + 1]; ++i) {
    TraceDependency dependency = edges_[static_cast<std::size_t>(i)].dependency;
    dependency.request = index_[static_cast<std::size_t>(dependency.request)];
    batch.dependencies.push_back(dependency);
  }
  request.num_dependencies = std::ssize(batch.dependencies) - request.first_dependency;
  batch.requests.push_back(request);
  ++next_;
  return true;
}

}  // namespace hybridkv
