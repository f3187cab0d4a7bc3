#include "verify/layout/block_assignment.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "planner/demand.h"
#include "tests/verify/plans.h"
#include "verify/layout/address_audit.h"
#include "verify/verify.h"

using namespace hybridkv;
using testing::small_plan;

TEST_CASE(
    "law: ids are in the pool, never the null block, the highest among them, no two owners but the shared prefix") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const CachePlan plan = small_plan(1 + static_cast<std::int64_t>(seed % 6));
    const std::vector<BatchRequest> requests = default_requests(plan);
    const BlockAssignment assignment = assign_blocks(plan, requests, seed);
    std::set<std::int64_t> seen;
    std::size_t held = 0;
    for (std::size_t group = 0; group < plan.groups.size(); ++group) {
      const std::vector<std::int64_t> ids = assignment.held_by(group);
      held += ids.size();
      seen.insert(ids.begin(), ids.end());
      for (std::size_t request = 0; request < requests.size(); ++request)
        CHECK(static_cast<std::int64_t>(assignment.ids[group][request].size()) ==
              group_ids(plan, plan.groups[group], requests[request].tokens));
    }
    CHECK(seen.size() == held);
    CHECK(*seen.begin() >= 1);
    CHECK(*seen.rbegin() == plan.num_blocks() - 1);
    for (std::int64_t guard : assignment.guards.front()) CHECK_FALSE(seen.contains(guard));
    CHECK(audit_block_tables(plan, assignment).status == CheckStatus::passed);
  }
}

TEST_CASE("law: the blocks of a request do not follow each other") {
  const CachePlan plan = small_plan(2);
  const std::vector<std::int64_t> tokens{2000, 2000, 2000};
  const BlockAssignment assignment = assign_blocks(plan, requests_of_lengths(tokens), 1);
  std::size_t neighbours = 0;
  std::size_t pairs = 0;
  for (const auto& group : assignment.ids)
    for (const auto& request : group)
      for (std::size_t i = 1; i < request.size(); ++i, ++pairs) neighbours += request[i] == request[i - 1] + 1;
  CHECK(pairs > 50);
  CHECK(neighbours * 10 < pairs);
}

TEST_CASE("fault: a block held twice, a foreign block and one outside the pool are reported") {
  const CachePlan plan = small_plan(2);
  const BlockAssignment right = assign_blocks(plan, default_requests(plan), 1);
  const auto broken = [&](std::size_t group, std::size_t request, std::int64_t id) {
    BlockAssignment assignment = right;
    assignment.ids[group][request].back() = id;
    return audit_block_tables(plan, assignment);
  };
  CHECK(audit_block_tables(plan, right).status == CheckStatus::passed);
  CHECK(broken(0, 1, right.ids[0][0].back()).status == CheckStatus::failed);
  CHECK(broken(0, 0, right.ids[1][0].back()).status == CheckStatus::failed);
  CHECK(broken(0, 0, plan.num_blocks()).status == CheckStatus::failed);
  CHECK(broken(0, 0, 0).status == CheckStatus::failed);
}

TEST_CASE("fault: small pages of one large page that two requests hold are reported") {
  const CachePlan plan =
      small_plan(1, CacheMode::align, DType::bf16, std::int64_t(64) << 20, Strategy::two_level);
  const std::vector<std::int64_t> tokens{200, 200};
  BlockAssignment assignment = assign_blocks(plan, requests_of_lengths(tokens), 1);
  CHECK(audit_block_tables(plan, assignment).status == CheckStatus::passed);
  std::size_t group = 0;
  while (group < plan.groups.size() &&
         (plan.groups[group].entries_per_id == 1 || assignment.ids[group][0].size() < 2))
    ++group;
  REQUIRE(group < plan.groups.size());
  // The second of the small pages that the first request has in its first large page goes to the second request.
  std::vector<std::int64_t>&first = assignment.ids[group][0], &second = assignment.ids[group][1];
  const std::int64_t large_page = first[1] / plan.groups[group].entries_per_id;
  REQUIRE(first[0] / plan.groups[group].entries_per_id == large_page);
  second.push_back(first[1]);
  first.erase(first.begin() + 1);
  const CheckResult result = audit_block_tables(plan, assignment);
  CHECK(result.status == CheckStatus::failed);
  CHECK(result.message ==
        fmt::format("group {}: large page {} has small pages of requests 0 and 1", group, large_page));
}
