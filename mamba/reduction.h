#pragma once

#include <algorithm>
#include <cstdint>

namespace hybridkv {

/// How numbers of a layer shrink where a proof computes it at a fraction of its width.
struct Reduction {
  std::int64_t by;  ///< >= 1

  /// At least one is left.
  std::int64_t heads(std::int64_t count) const { return std::max<std::int64_t>(1, count / by); }
  /// Of one head; 8 are left where there are as many.
  std::int64_t channels(std::int64_t count) const { return std::max(std::min<std::int64_t>(8, count), count / by); }
  /// Heads times channels, divided twice.
  std::int64_t width(std::int64_t count) const { return std::max(std::min<std::int64_t>(8, count), count / by / by); }
};

}  // namespace hybridkv
