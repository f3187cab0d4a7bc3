#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ask/clock/timed_replay.h"
#include "ask/verdict.h"
#include "base/named_values.h"
#include "planner/cache_plan.h"
#include "simulator/cache_replay.h"

namespace hybridkv {

/// What became of one point of a sweep.
enum class PointStatus {
  ok,
  impossible,  ///< cannot be planned, verified or simulated; `reason` says why
  fault,       ///< verification found a fault; `reason` says which
};

inline constexpr auto point_status_names = std::to_array<Named<PointStatus>>(
    {{PointStatus::ok, "ok"},
     {PointStatus::impossible, "impossible"},
     {PointStatus::fault, "fault"}});

constexpr std::string_view to_string(PointStatus status) { return name_in(point_status_names, status); }
constexpr std::optional<PointStatus> parse_point_status(std::string_view name) {
  return value_in(point_status_names, name);
}

/// Points by what became of them.
struct PointCounts {
  std::int64_t ok = 0;
  std::int64_t impossible = 0;
  std::int64_t fault = 0;
  std::int64_t total() const { return ok + impossible + fault; }
  void add(PointStatus status);
  PointCounts& operator+=(const PointCounts& other);
  bool operator==(const PointCounts&) const = default;
};

/// One point of a sweep with all that is known of it.
struct SweepPoint {
  std::int64_t point = 0;                ///< from 0, in the order of the product
  PointStatus status = PointStatus::ok;
  std::string reason;                    ///< one line; empty where the status is ok
  std::optional<CachePlan> plan;         ///< of one length; unset: it could not be planned
  bool not_asked = false;                ///< the scenario has this pack not verified
  std::optional<Verdict> verification;   ///< unset: not verified
  std::optional<IndexStats> stats;       ///< unset: not simulated
  std::optional<std::int64_t> longest_repeat;  ///< as in ReplayedCache; unset: not simulated, or it hits
  std::optional<bool> overloaded;        ///< the replay of an open loop; unset: another one

  std::optional<ServedTimes> times;      ///< by the point's clock; unset: it has none
  std::optional<TimedAnswer> timed;      ///< by which clock; unset: by none

  /// What a cache of blocks found; null where there was none.
  const SimulationStats* blocks() const { return stats ? std::get_if<SimulationStats>(&*stats) : nullptr; }
};

}  // namespace hybridkv
