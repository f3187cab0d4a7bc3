#include "clock/duration_histogram.h"

#include <algorithm>
#include <cmath>

namespace hybridkv {

namespace {
constexpr double smallest = 1e-6;
constexpr double ratio = 1.01;
}  // namespace

void DurationHistogram::add(double seconds) {
  std::size_t bucket = 0;
  if (seconds > smallest) bucket = static_cast<std::size_t>(std::ceil(std::log(seconds / smallest) / std::log(ratio)));
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  ++buckets_[bucket];
  ++count_;
  sum_ += seconds;
  max_ = std::max(max_, seconds);
}

double DurationHistogram::quantile(double share) const {
  const double wanted = share * static_cast<double>(count_);
  std::int64_t seen = 0;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    seen += buckets_[bucket];
    if (seen > 0 && static_cast<double>(seen) >= wanted)
      return bucket == 0 ? 0 : std::min(max_, smallest * std::pow(ratio, static_cast<double>(bucket)));
  }
  return 0;
}

}  // namespace hybridkv
