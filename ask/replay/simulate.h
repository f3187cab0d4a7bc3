#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ask/clock/timed_replay.h"
#include "ask/replay/layout_bound.h"
#include "scenarios/scenario.h"
#include "simulator/schedule/overload.h"
#include "simulator/sweep.h"

namespace hybridkv {

/// A trace of at most this many requests is listed request by request.
inline constexpr std::int64_t most_listed_requests = 12;

/// What to replay, and through which caches.
struct SimulateQuestion {
  SimulateRequest request;
  std::vector<AnyCache> caches;  ///< at least one, all of one index; names of their own tell them apart
  std::optional<TimedAnswer> timed;  ///< where the replay goes by a clock, set_clock
  bool uncached = true;              ///< SimulationSpec::uncached
};

/// One request of a short trace.
struct ListedRequest {
  AnyRecord record;
  /// In a cache of blocks: tokens at which its prompt leaves checkpoints, by the closed form; empty where it found
  /// anything or did not end ok.
  std::vector<std::int64_t> cold_checkpoints;
};

/// One cache of an answer.
struct ReplayedCache : ReplayedIndex {
  std::string name;
  std::optional<std::int64_t> max_model_len;  ///< longer prompts are refused; unset: no limit
  /// Of scenarios that ask for upper bounds: how much any policy could find; see scenario_bounds.
  std::optional<LayoutBound> bound;
  std::optional<std::int64_t> longest_request;  ///< tokens of the longest one that a cache of blocks can hold
  /// Most tokens that a prompt shares with an earlier one; unset where the cache hits and nobody asks.
  std::optional<std::int64_t> longest_repeat;
  /// In the order in which requests ended; empty of a trace of more than most_listed_requests.
  std::vector<ListedRequest> requests;
};

/// One simulation of one or several caches over one trace.
struct SimulateAnswer {
  const EngineRules* rules = nullptr;  ///< of the first cache
  std::string trace;                   ///< what was replayed: a file, or the generated trace with its seed
  DriverSpec driver;
  std::int64_t requests = 0;           ///< of the whole trace
  std::int64_t prompt_tokens = 0;      ///< of the whole trace
  std::int64_t bad_lines = 0;          ///< of the trace file, skipped
  std::vector<ReplayedCache> caches;
  std::optional<TimedAnswer> timed;    ///< by which clock; nothing: by none
};

/// What is called while a simulation runs. Each may be empty.
struct SimulateWatch {
  std::function<void()> on_start = {};  ///< the caches are right and the trace is open
  /// Of the first cache, in the order in which requests end, with what each lost where losses are asked for, else null.
  std::function<void(const RecordView&, const ReuseLoss*)> on_record = {};
  std::function<void(const SweepProgress&)> on_progress = {};
  std::function<void(const RecordedEvent&)> on_event = {};  ///< of the first cache (SimulationSpec::on_event)
  std::function<void(std::vector<ShapePart>)> on_shape = {};  ///< of the first cache (SimulationSpec::on_shape)
};

/// Replays the trace through all caches. Throws SpecError, path "geometry.FIELD" or as open_trace and make_replay, for
/// what cannot be replayed; scenario_error has the scenario's name of it.
SimulateAnswer simulate(const SimulateQuestion& question, const SimulateWatch& watch = {});

}  // namespace hybridkv
