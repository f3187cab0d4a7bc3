#pragma once

#include <utility>
#include <vector>

#include "verify/transfer/traffic.h"
#include "verify/verify.h"

namespace hybridkv::testing {

/// The pools of a plan, with blocks for the requests that `verify` takes where none are asked for: nothing is written
/// yet. Stays where it is, since its members name each other.
struct PlanTraffic {
  CachePlan plan;
  std::vector<BoundView> views = bind_views(plan);
  PoolSet pools{plan};
  std::vector<BatchRequest> requests = default_requests(plan);
  BlockAssignment assignment = assign_blocks(plan, requests, 1);
  Traffic traffic{plan, views, pools, assignment, requests};

  explicit PlanTraffic(CachePlan of) : plan(std::move(of)) {}
  PlanTraffic(const PlanTraffic&) = delete;
  PlanTraffic& operator=(const PlanTraffic&) = delete;
};

}  // namespace hybridkv::testing
