#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "verify/layout/bound_view.h"

namespace hybridkv {

/// Neighbouring bytes that no view covers.
struct PageGap {
  std::int64_t first = 0;  ///< from the front of what an id, or a place in it, owns of a lane
  std::int64_t bytes = 0;
  bool operator==(const PageGap&) const = default;
};

/// The padding of what an id of one block table owns in one lane, ascending; the same for every id, and where ids are
/// split for every place in one. Of the views of the table that reach the lane, of ids that hold one piece of an entry.
/// Pre: the views passed the address audit.
std::vector<PageGap> page_gaps(const CachePlan& plan, std::span<const BoundView> views, std::int64_t table, LaneId lane,
                               std::int64_t piece);

}  // namespace hybridkv
