#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ask/replay/simulate.h"

namespace hybridkv {

/// A trace at one rate.
struct LoadPoint {
  double rate = 1;      ///< requests come so many times as fast as the trace says
  double offered = 0;   ///< requests a second
  ServedTimes cached;
  ServedTimes uncached;
};

/// Latency against load, of one cache.
struct LoadCurve {
  TimedAnswer timed;
  std::string trace;
  std::string name;               ///< of the cache
  std::vector<LoadPoint> points;  ///< by rate, ascending

  /// The highest rate at which that share of the requests keeps the limits, and at all below it; nothing where there
  /// are no limits or the lowest does not.
  std::optional<double> most_rate(double share) const;
};

/// Replays a question at several rates, each > 0. Pre: it has one cache and goes by a clock. Throws as simulate.
LoadCurve load_curve(const SimulateQuestion& question, std::vector<double> rates, const SimulateWatch& watch = {});

}  // namespace hybridkv
