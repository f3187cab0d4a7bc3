#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "verify/fault/fault.h"
#include "verify/layout/block_assignment.h"
#include "verify/layout/bound_view.h"

namespace hybridkv {

/// A plan offers no place for a fault, so it could not be planted: neither caught nor missed.
class NoPlaceError : public InputError {
 public:
  NoPlaceError(Fault fault, std::string why);
  const std::string& why() const { return why_; }

 private:
  std::string why_;
};

/// Plants a fault into the views and block tables under test. Faults of what is written, copied or attended
/// (Traffic::fault) leave both alone; of these, only that a place exists is checked where it can be known here.
/// Throws NoPlaceError where this plan offers none (one layer per page, no padding, a pool below 2^31 elements …), so
/// that a fault is never reported as caught without being there.
void plant_fault(Fault fault, const CachePlan& plan, std::vector<BoundView>& views, BlockAssignment& assignment);

}  // namespace hybridkv
