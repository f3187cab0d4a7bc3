#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "verify/bound_view.h"

namespace hybridkv {

/// Which view owns each byte of a page of one group in one pool; the same for every block.
class PageMap {
 public:
  static constexpr std::int32_t nobody = -1;

  /// From the views of the plan that belong to the group and the pool. Pre: the views passed the address audit.
  PageMap(const CachePlan& plan, std::span<const BoundView> views, std::int64_t group, std::int64_t pool);

  /// Position in the list of views of the owner of each byte, or `nobody` for padding.
  std::span<const std::int32_t> owners() const { return owners_; }

 private:
  std::vector<std::int32_t> owners_;
};

}  // namespace hybridkv
