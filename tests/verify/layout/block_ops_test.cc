#include "verify/layout/block_ops.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

#include "tests/verify/plans.h"

using namespace hybridkv;

TEST_CASE("edge: a block is copied to another one, and a whole page to a later one alone") {
  const CachePlan plan = testing::small_plan(3);
  const PoolSet pools(plan);
  const std::vector<BoundView> views = bind_views(plan);
  const BoundView& view = views.front();
  CHECK_THROWS_AS(copy_block(pools, view, 1, 1), std::logic_error);
  CHECK_THROWS_AS(copy_page_from_offset(pools, view, 1, 1, plan.page_bytes()), std::logic_error);
  CHECK_THROWS_AS(copy_page_from_offset(pools, view, 2, 1, plan.page_bytes()), std::logic_error);
  CHECK_NOTHROW(copy_page_from_offset(pools, view, 1, 2, plan.page_bytes()));
}
