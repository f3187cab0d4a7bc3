#pragma once

#include <cstdint>
#include <vector>

namespace hybridkv {

/// Counts durations in buckets 1 % wide, so that percentiles of any number of requests take a fixed memory.
/// Mean and maximum are exact.
class DurationHistogram {
 public:
  void add(double seconds);
  std::int64_t count() const { return count_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  double max() const { return max_; }
  /// Smallest duration, to 1 %, that at least this share (0 .. 1) of all do not exceed; 0 without any.
  double quantile(double share) const;
  bool operator==(const DurationHistogram&) const = default;

 private:
  std::vector<std::int64_t> buckets_;  // 0: below one microsecond; i: up to 1e-6 * 1.01^i seconds
  std::int64_t count_ = 0;
  double sum_ = 0;
  double max_ = 0;
};

}  // namespace hybridkv
