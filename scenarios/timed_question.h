#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "clock/served_times.h"

namespace hybridkv {

/// On what a model is served, as far as time goes.
struct ClockQuestion {
  std::string gpu;        ///< of find_gpu; empty: no clock is asked for
  std::int64_t gpus = 0;  ///< of a replica, which share the routed experts; 0: as many as ranks
  std::string file;       ///< of a clock that `calibrate` wrote; empty: that of the engine
  bool operator==(const ClockQuestion&) const = default;
};

/// What a replay by a clock is asked.
struct TimedQuestion {
  ClockQuestion served;
  ServiceLimits limits;
  double rate = 1;                           ///< requests come so many times as fast as the trace says, > 0
  std::optional<double> price_per_gpu_hour;  ///< in whatever money, >= 0
  bool is_asked() const { return !served.gpu.empty(); }
  bool operator==(const TimedQuestion&) const = default;
};

}  // namespace hybridkv
