#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ask/layout_bound.h"
#include "scenarios/scenario.h"
#include "simulator/cache_geometry.h"
#include "simulator/overload.h"
#include "simulator/sweep.h"

namespace hybridkv {

/// A trace of at most this many requests is listed request by request.
inline constexpr std::int64_t most_listed_requests = 12;

/// What to replay, and through which caches.
struct SimulateQuestion {
  SimulateRequest request;
  std::vector<CacheGeometry> caches;  ///< at least one; names of their own tell them apart
};

/// The caches of the scenario's plans: one for each pack and length, as another length refuses other prompts. Throws
/// InputError with the place of what cannot be planned or replayed.
std::vector<CacheGeometry> planned_caches(const Scenario& scenario);

/// Caches that are described without a plan.
struct BareCaches {
  std::vector<std::int64_t> block_sizes;             ///< tokens
  std::vector<std::int64_t> num_blocks;              ///< of the pool, null block included
  std::vector<CacheMode> modes{CacheMode::align};
  std::int64_t attention_groups = 1;
  std::int64_t state_groups = 0;
  std::optional<std::int64_t> max_num_batched_tokens;  ///< default: the geometry's
};

/// The product of modes, block sizes and numbers of blocks, in this order.
std::vector<CacheGeometry> bare_caches(const BareCaches& caches, const SimulateRequest& request);

/// One request of a short trace.
struct ListedRequest {
  RequestRecord record;
  /// Tokens at which its prompt leaves checkpoints, by the closed form; empty where it found anything or did not end
  /// ok.
  std::vector<std::int64_t> cold_checkpoints;
};

/// One simulation of one or several caches over one trace.
struct SimulateAnswer {
  std::string trace;           ///< what was replayed: a file, or the generated trace with its seed
  DriverSpec driver;
  SweepResult result;
  /// (cache) of scenarios that ask for upper bounds: how much any policy could find; see scenario_bounds.
  std::vector<std::optional<LayoutBound>> bounds;
  std::int64_t bad_lines = 0;  ///< of the trace file, skipped
  std::vector<std::int64_t> longest_requests;  ///< (cache) tokens of the longest request that it can hold
  /// (cache), most tokens that a prompt shares with an earlier one; unset where the cache hits and nobody asks.
  std::vector<std::optional<std::int64_t>> longest_repeats;
  /// (cache, request), in the order in which requests ended; empty of a trace of more than most_listed_requests.
  std::vector<std::vector<ListedRequest>> requests;
};

/// Who looks on. All may be empty.
struct SimulateWatch {
  std::function<void()> on_start;  ///< the caches are right and the trace is open
  std::function<void(const RequestRecord&)> on_record;  ///< of the first cache, in the order in which requests end
  /// With SimulateRequest::losses: the same records, and what each lost.
  std::function<void(const RequestRecord&, const ReuseLoss&)> on_loss;
  std::function<void(const SweepProgress&)> on_progress;
};

/// Replays the trace through all caches. Throws SpecError, path "geometry.FIELD" or as open_trace and run_sweep, for
/// what cannot be replayed; scenario_error has the scenario's name of it.
SimulateAnswer simulate(const SimulateQuestion& question, const SimulateWatch& watch = {});

}  // namespace hybridkv
