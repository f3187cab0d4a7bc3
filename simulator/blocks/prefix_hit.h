#pragma once

#include <cstdint>

#include "simulator/blocks/cache_geometry.h"

namespace hybridkv {

/// What a look-up found for one prompt.
struct PrefixHit {
  std::int64_t tokens = 0;           ///< found in every group
  std::int64_t uncached_common = 0;  ///< u: further tokens that one kind of group alone matched
  bool operator==(const PrefixHit&) const = default;
};

/// Where the kind of groups that matched most stopped, if it matched more than the others; 0 = none. It is kept like a
/// prompt's end, since a second prompt has reached it.
inline std::int64_t junction(const CacheGeometry& geometry, const PrefixHit& hit) {
  return geometry.scheduler.branch_point && hit.uncached_common > 0 ? hit.tokens + hit.uncached_common : 0;
}

}  // namespace hybridkv
