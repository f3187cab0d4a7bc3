#pragma once

#include "clock/served_times.h"

namespace hybridkv {

/// Share of the requests that has to keep the limits where nobody says another: what services promise of latency is
/// promised for the 99th percentile.
inline constexpr double usual_good_share = 0.99;

/// Share of the requests within the limits; 0 of none.
inline double good_share(const ServedTimes& times) {
  return times.requests() == 0 ? 0
                               : static_cast<double>(times.good_requests()) / static_cast<double>(times.requests());
}

/// Are the limits kept by that share of the requests, and would they be by a longer trace of the same kind?
inline bool keeps_limits(const ServedTimes& times, double share) {
  return good_share(times) >= share && !times.overloaded();
}

}  // namespace hybridkv
