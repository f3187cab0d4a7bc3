#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/trace/chain_hash.h"

namespace hybridkv {

/// Longest prompt of a trace that is made up or written out, tokens: far beyond any model, small enough to be replayed.
inline constexpr std::int64_t longest_made_up_prompt = std::int64_t{1} << 30;

/// One request of a trace. Its prompt is a list of token runs in the batch it came with.
struct TraceRequest {
  std::int64_t index = 0;          ///< position in the trace, from 0
  double arrival_seconds = 0;      ///< since the start of the trace
  std::int64_t input_length = 0;   ///< n, tokens of the prompt, >= 1
  std::int64_t output_length = 0;  ///< tokens to generate, >= 0
  std::int64_t chat_id = -1;       ///< conversation, -1 where the trace does not say
  std::int64_t parent_chat_id = -1;///< the request this one continues, -1 = none or unknown
  std::int64_t turn = 0;           ///< of its conversation, from 1; 0 where the trace does not say
  std::int64_t first_run = 0;      ///< in TraceBatch::runs
  std::int64_t num_runs = 0;
  std::int64_t first_dependency = 0;  ///< in TraceBatch::dependencies
  std::int64_t num_dependencies = 0;  ///< all must have happened before it starts, which only the open loop heeds
  std::int64_t num_dependents = 0;    ///< dependencies of later requests that name this one
  bool operator==(const TraceRequest&) const = default;
};

/// What a request waits for: an earlier request of the trace, and how long from there.
struct TraceDependency {
  std::int64_t request = 0;   ///< its index in the trace, smaller than that of the request that waits
  bool at_end = true;         ///< from its end on, otherwise from its submission
  double delay_seconds = 0;   ///< >= 0
  bool operator==(const TraceDependency&) const = default;
};

/// Requests that a source of traces gives at a time.
inline constexpr std::size_t batch_requests = 2048;

/// Consecutive requests of a trace, decoded once and shared by all simulations.
struct TraceBatch {
  std::vector<TraceRequest> requests;
  std::vector<TokenRun> runs;  ///< prompts one after the other
  std::vector<TraceDependency> dependencies;  ///< of one request after the other

  std::span<const TokenRun> prompt(const TraceRequest& request) const {
    return std::span(runs).subspan(static_cast<std::size_t>(request.first_run),
                                   static_cast<std::size_t>(request.num_runs));
  }
  std::span<const TraceDependency> waits_for(const TraceRequest& request) const {
    return std::span(dependencies).subspan(static_cast<std::size_t>(request.first_dependency),
                                           static_cast<std::size_t>(request.num_dependencies));
  }
  void clear() {
    requests.clear();
    runs.clear();
    dependencies.clear();
  }
  bool operator==(const TraceBatch&) const = default;
};

/// How far a trace has been read.
struct TraceProgress {
  std::int64_t requests = 0;
  double fraction = 0;  ///< of the whole trace, 0 where unknown
};

/// Where requests come from: a file or a generator, read once from start to end.
class TraceSource {
 public:
  virtual ~TraceSource() = default;
  /// Replaces the batch by the next requests; false at the end. Throws InputError, ProgramError.
  virtual bool next(TraceBatch& batch) = 0;
  virtual TraceProgress progress() const = 0;
};

}  // namespace hybridkv
