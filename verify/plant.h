#pragma once

#include <vector>

#include "verify/block_assignment.h"
#include "verify/bound_view.h"
#include "verify/fault.h"

namespace hybridkv {

/// Plants a fault into the views and block tables under test. Fault::zero_full_page changes an operation instead and
/// leaves both alone. Throws InputError where this plan offers no place for the fault (one layer per page, no padding,
/// a pool below 2^31 elements …), so that a fault is never reported as caught without being there.
void plant_fault(Fault fault, const CachePlan& plan, std::vector<BoundView>& views, BlockAssignment& assignment);

}  // namespace hybridkv
