#pragma once

#include <cstdint>
#include <optional>

#include "clock/served_times.h"

namespace hybridkv {

/// So many of a replay, in its second; 0 where it took no time.
inline double per_second(const ServedTimes& times, std::int64_t number) {
  const double span = times.span_seconds();
  return span > 0 ? static_cast<double>(number) / span : 0;
}

/// GPUs times the hours of a replay.
inline double gpu_hours(const ServedTimes& times, double gpus) { return gpus * times.span_seconds() / 3600; }

/// Money for a million of these tokens, if they bear the price of the whole replay; nothing without a price of a GPU
/// and hour, or without tokens.
inline std::optional<double> price_of_million(const ServedTimes& times, double gpus,
                                              std::optional<double> price_per_gpu_hour, std::int64_t tokens) {
  if (!price_per_gpu_hour || tokens == 0) return std::nullopt;
  return *price_per_gpu_hour * gpu_hours(times, gpus) / static_cast<double>(tokens) * 1e6;
}

}  // namespace hybridkv
