// Block ids of one request: vLLM max_memory_usage_bytes, get_max_concurrency_for_kv_cache_config.
#include "planner/demand.h"

#include <doctest/doctest.h>

#include "tests/planner/small_specs.h"

using namespace hybridkv;
using testing::attention;
using testing::plan_with;
using testing::recurrent;

TEST_CASE("golden: a request takes the ids of all groups and extras") {
  Arrangement plan = plan_with(CacheMode::align, 2);
  plan.specs = {recurrent(), attention(AttentionKind::full)};
  plan.groups = {{.spec = 0}, {.spec = 0}, {.spec = 1}};
  plan.arenas = {{"blocks", 100, 1}};
  CHECK(request_demand(plan, 33).total() == 2 * (2 + 2) + 3);
  plan.extras.push_back({.what = "ring", .bytes_per_block = 0, .blocks_per_request = 1});
  CHECK(request_demand(plan, 33).total() == 2 * (2 + 2) + 3 + 1);
}

TEST_CASE("golden: the ids of every arena, with the null ids and without") {
  Arrangement plan = plan_with(CacheMode::align);
  plan.arenas = {{"tokens", 100, 1}, {"states", 1, 1}, {"none", 0, 1}};
  CHECK(no_demand(plan).ids == std::vector<std::int64_t>{0, 0, 0});
  CHECK(all_ids(plan).ids == std::vector<std::int64_t>{100, 1, 0});
  CHECK(usable_ids(plan).ids == std::vector<std::int64_t>{99, 0, 0});
}

TEST_CASE("golden: a load needs what its requests need, extras of each in the first arena") {
  Arrangement plan = plan_with(CacheMode::align);
  plan.arenas = {{"tokens", 100, 1}, {"states", 10, 1}};
  plan.specs = {attention(AttentionKind::full), recurrent()};
  plan.specs[1].id = 1;
  plan.groups = {{.spec = 0}, {.spec = 1, .arena = {1}}};
  plan.extras = {{"a ring", 0, 3}, {"an indexer", 256, 0}};
  CHECK(request_demand(plan, 17).ids == std::vector<std::int64_t>{2 + 3, 2});
  const std::vector<std::int64_t> load{17, 16};
  CHECK(load_demand(plan, load).ids == std::vector<std::int64_t>{2 + 3 + 1 + 3, 4});
  CHECK(plan.extra_bytes_per_id() == 256);
}
