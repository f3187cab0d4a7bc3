#pragma once

#include <cstdint>
#include <vector>

namespace hybridkv {

/// Where an engine with snapshots takes them of a prompt of n tokens: at whole multiples of an interval, at offsets
/// from its start and from its end, and where it parts from what is there.
struct SnapshotPoints {
  std::int64_t interval_tokens = 0;       ///< between periodic ones; 0: there are none
  std::vector<std::int64_t> from_start;   ///< offsets <= n
  std::vector<std::int64_t> from_end;     ///< offsets o with n - o > 0
  bool at_branches = false;               ///< where a prompt leaves the content of earlier ones
  bool operator==(const SnapshotPoints&) const = default;

  /// Is there ever one?
  bool any() const { return interval_tokens > 0 || !from_start.empty() || !from_end.empty() || at_branches; }
};

}  // namespace hybridkv
