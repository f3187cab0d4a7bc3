#include "verify/transfer/transfer_pages.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "tests/verify/plans.h"
#include "transfer/request_tables.h"

namespace hybridkv::testing {

namespace {

using Ranges = std::vector<ByteRange>;

TransferSide small_side() {
  TransferSide side;
  side.stages.push_back(small_plan(1));
  return side;
}

struct Touched {
  TransferSide side = small_side();
  const CachePlan& plan = side.stages.front();
  RequestTables tables = make_tables(side, 100, IdOrder::scattered, 1);
  HeldPages pages = transfer_pages(plan, tables.ids.front(), {2});
  PoolSet pools{plan};

  Touched() { fill_canaries(pools, pages, CanarySide::to); }
  CheckResult check(CanarySide side_of = CanarySide::to) const {
    return check_canaries(plan, pools, pages, side_of, "rank 0");
  }
};

}  // namespace

TEST_CASE("edge: ranges that meet are joined, empty ones vanish") {
  CHECK(joined_ranges({{8, 12}, {0, 4}, {4, 6}, {10, 11}, {20, 20}}) == Ranges{{0, 6}, {8, 12}});
  CHECK(joined_ranges({}).empty());
}

TEST_CASE("law: pages are those of held ids, the null id and free ones, which nobody holds") {
  const Touched touched;
  REQUIRE(touched.pages.free_ids.size() == 1);
  REQUIRE(touched.pages.free_ids.front().size() == 2);
  std::vector<std::int64_t> held;
  for (const auto& table : touched.tables.ids.front()) held.insert(held.end(), table.begin(), table.end());
  for (const std::int64_t id : touched.pages.free_ids.front())
    CHECK(std::find(held.begin(), held.end(), id) == held.end());
  held.insert(held.end(), touched.pages.free_ids.front().begin(), touched.pages.free_ids.front().end());
  held.push_back(0);
  const auto is_in_pages = [&](std::int64_t pool, std::int64_t first, std::int64_t end) {
    const Ranges& ranges = touched.pages.pools[static_cast<std::size_t>(pool)];
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const ByteRange& range) { return range.first <= first && end <= range.end; });
  };
  for (const LanePlan& lane : touched.plan.lanes)
    for (const std::int64_t id : held) CHECK(is_in_pages(lane.pool.value, lane.begin(id), lane.begin(id) + lane.bytes));
  CHECK(touched.pools.resident_bytes() == touched.pages.bytes());
  const CheckResult result = touched.check();
  CHECK(result.status == CheckStatus::passed);
  CHECK(result.count == touched.pages.bytes());
}

TEST_CASE("edge: free are neighbours of held ids that nobody holds themselves, then the highest ids") {
  const CachePlan plan = small_plan(1);
  std::vector<std::vector<std::int64_t>> tables(plan.groups.size());
  tables.front() = {5, 6, 7};
  const std::int64_t highest = plan.num_blocks() - 1;
  CHECK(transfer_pages(plan, tables, {4}).free_ids ==
        std::vector<std::vector<std::int64_t>>{{4, 8, highest, highest - 1}});
}

TEST_CASE("fault: one byte of a page that changed is found, with its pool and id") {
  const Touched touched;
  const LanePlan& lane = touched.plan.lanes.back();
  const std::int64_t id = touched.pages.free_ids.front().back(), at = lane.begin(id) + 5;
  touched.pools.pool(lane.pool.value)[static_cast<std::size_t>(at)] ^= std::byte{1};
  const CheckResult result = touched.check();
  CHECK(result.status == CheckStatus::failed);
  CHECK(result.message == fmt::format("rank 0, pool {}, byte {}: byte 5 of the page of id {} of blocks was written to, "
                                      "where no part of the request belongs", lane.pool.value, at, id));
}

TEST_CASE("fault: a page that became resident beside those of the request is found") {
  const Touched touched;
  const std::span<std::byte> pool = touched.pools.pool(0);
  std::size_t far = 0;  // the first memory page that is no part of any
  for (const ByteRange& range : touched.pages.pools.front()) {
    if (static_cast<std::int64_t>(far) + 8192 < range.first) break;
    far = static_cast<std::size_t>(range.end) + 4096;
  }
  REQUIRE(far < pool.size());
  pool[far] = std::byte{1};
  const CheckResult result = touched.check();
  CHECK(result.status == CheckStatus::failed);
  CHECK(result.message == "rank 0: 4096 bytes were written to in pages of ids that the request does not hold");
}

TEST_CASE("fault: canaries of a source are none of a destination") {
  const Touched touched;
  CHECK(touched.check(CanarySide::from).status == CheckStatus::failed);
  const std::int64_t free = touched.plan.lanes.front().begin(touched.pages.free_ids.front().front());
  fill_canary(touched.pools, CanarySide::from, 0, free, 64);
  CHECK(touched.check().status == CheckStatus::failed);
  fill_canary(touched.pools, CanarySide::to, 0, free, 64);
  CHECK(touched.check().status == CheckStatus::passed);
}

}  // namespace hybridkv::testing
