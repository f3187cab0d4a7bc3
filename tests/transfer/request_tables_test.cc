#include "transfer/request_tables.h"

#include <doctest/doctest.h>

#include <set>

#include "base/error.h"
#include "tests/planner/models.h"

namespace hybridkv {
namespace {

using namespace testing;

TransferSide table_side(std::int64_t blocks) {
  const EngineSpec engine{.tensor_parallel = 2, .cache_mode = CacheMode::align, .num_blocks = blocks};
  return make_side(qwen35_397b(), engine, {.max_model_lens = {32'768}});
}

TEST_CASE("golden: tables of a request: an id per block and one for each group of states") {
  const TransferSide side = table_side(400);
  const RequestTables tables = make_tables(side, 5000, IdOrder::consecutive, 1);
  REQUIRE(tables.ids.size() == 1);
  using Ids = std::vector<std::int64_t>;
  // Three groups of states, then attention: ceil(5000 / 2096) blocks.
  CHECK(tables.ids[0] == std::vector<Ids>{{1}, {2}, {3}, {4, 5, 6}});
  check_tables(side, tables, 5000, "ids");
}

TEST_CASE("law: scattered ids have no neighbours, the highest among them, and are the same for a seed") {
  const TransferSide side = table_side(400);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const RequestTables tables = make_tables(side, 32'768, IdOrder::scattered, seed);
    check_tables(side, tables, 32'768, "ids");
    std::set<std::int64_t> all;
    for (const auto& table : tables.ids[0]) all.insert(table.begin(), table.end());
    CHECK(all.size() == 3 + 16);
    CHECK(*all.rbegin() == 399);
    for (const std::int64_t id : all) CHECK(!all.contains(id + 1));
    CHECK(make_tables(side, 32'768, IdOrder::scattered, seed).ids == tables.ids);
    if (seed > 0) CHECK(make_tables(side, 32'768, IdOrder::scattered, seed - 1).ids != tables.ids);
  }
  // In a pool that is too full for that every id is used once all the same.
  const TransferSide full = table_side(23);
  check_tables(full, make_tables(full, 32'768, IdOrder::scattered, 1), 32'768, "ids");
}

TEST_CASE("golden: a request that the pools do not hold is refused with both numbers") {
  CHECK_THROWS_WITH_AS(make_tables(table_side(23), 50'000, IdOrder::scattered, 1),
                       doctest::Contains("a request of 50,000 tokens takes 27"), InputError);
}

TEST_CASE("golden: tables that no engine could have are refused by group and position") {
  const TransferSide side = table_side(400);
  const RequestTables good = make_tables(side, 5000, IdOrder::consecutive, 1);
  const auto refuses = [&](const std::string& text, auto change) {
    RequestTables bad = good;
    change(bad.ids);
    CHECK_THROWS_WITH_AS(check_tables(side, bad, 5000, "--from-ids ids.json"),
                         ("--from-ids ids.json: " + text).c_str(), InputError);
  };
  refuses("holds tables of 2 stages, this side has 1", [](auto& ids) { ids.push_back(ids[0]); });
  refuses("holds 3 tables, this side has 4 groups", [](auto& ids) { ids[0].pop_back(); });
  refuses("group 3 has 2 ids; a request of 5,000 tokens takes 3", [](auto& ids) { ids[0][3].pop_back(); });
  refuses("group 3, position 1: id 0 is none that a request can hold; they are 1 to 399",
          [](auto& ids) { ids[0][3][1] = 0; });
  refuses("group 3, position 1: id 400 is none that a request can hold; they are 1 to 399",
          [](auto& ids) { ids[0][3][1] = 400; });
  refuses("group 3, position 2: id 2 is held twice", [](auto& ids) { ids[0][3][2] = 2; });
}

}  // namespace
}  // namespace hybridkv
