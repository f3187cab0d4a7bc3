#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "verify/layout/bound_view.h"

namespace hybridkv {

/// Which view owns each byte of what an id of one block table owns in one lane; the same for every id,
/// and where ids are split for every place in one.
class PageMap {
 public:
  static constexpr std::int32_t nobody = -1;

  /// From the views of the plan that belong to the table and reach the lane, of ids that hold one piece of an entry.
  /// Pre: the views passed the address audit.
  PageMap(const CachePlan& plan, std::span<const BoundView> views, std::int64_t table, LaneId lane, std::int64_t piece);

  /// Position in the list of views of the owner of each byte, or `nobody` for padding.
  std::span<const std::int32_t> owners() const { return owners_; }

 private:
  std::vector<std::int32_t> owners_;
};

}  // namespace hybridkv
