#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "simulator/trace/trace.h"

namespace hybridkv {

/// Requests that belong to one thread of prompts, each of which often goes on from the one before.
struct PromptThread {
  std::int64_t last = -1;      ///< the request added last, -1 = none
  std::vector<TokenRun> runs;  ///< of its prompt
};

/// A trace that cannot be streamed, because its file is not in order of time: held whole, then put in order.
///
/// A prompt is kept as what it has beyond the beginning it shares with the one before in its thread: 16 bytes a run.
class HeldTrace {
 public:
  /// Runs kept, 1 GiB.
  static constexpr std::int64_t most_runs = std::int64_t{1} << 26;

  /// Adds a request with its prompt; its number, from 0 in the order of adding. Throws InputError where there would be
  /// more than most_runs.
  std::int64_t add(const TraceRequest& request, std::vector<TokenRun> prompt, PromptThread& thread);
  /// The request `waiting` waits for `dependency.request`; both are numbers of added ones.
  void add_dependency(std::int64_t waiting, const TraceDependency& dependency);
  std::int64_t size() const { return static_cast<std::int64_t>(entries_.size()); }

  /// Puts requests in order of time, those of one time in the order of adding, but a request never before what it waits
  /// for: it arrives no earlier than that plus the delay. To be called once. A number of a request that waits for
  /// itself, over others or not; -1: there is none.
  std::int64_t put_in_order();
  /// Appends the next request, its runs and dependencies to the batch; false at the end.
  bool next(TraceBatch& batch);

 private:
  struct Entry {
    TraceRequest request;
    std::int64_t base = -1;       // request whose prompt begins alike
    std::int64_t shared = 0;      // runs of that
    std::int64_t first_own = 0;   // in runs_, of the others
    std::int64_t place = 0;       // in the order of dependencies
  };
  struct Edge {
    std::int64_t waiting = 0;
    TraceDependency dependency;
  };
  std::int64_t order_dependencies();

  std::vector<Entry> entries_;
  std::vector<TokenRun> runs_;
  std::vector<Edge> edges_;                  // by request that waits, once in order
  std::vector<std::int64_t> first_edge_;     // (request + 1), in edges_
  std::vector<std::int64_t> order_;          // numbers in order of time
  std::vector<std::int64_t> index_;          // (number), place in order_
  std::size_t next_ = 0;
};

}  // namespace hybridkv
