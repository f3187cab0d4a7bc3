#include "planner/grain_split.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "base/error.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("golden: the grain doubles with the memory, from 2 MiB to 32 MiB") {
  CHECK(grain_of(0) == 2 * mib);
  CHECK(grain_of(1) == 2 * mib);
  CHECK(grain_of(gib) == 2 * mib);
  CHECK(grain_of(2 * gib - 1) == 2 * mib);
  CHECK(grain_of(2 * gib) == 4 * mib);
  CHECK(grain_of(8 * gib) == 16 * mib);
  CHECK(grain_of(16 * gib) == 32 * mib);
  CHECK(grain_of(40 * gib) == 32 * mib);
  CHECK(grain_of(1024 * gib) == 32 * mib);
}

TEST_CASE("golden: slots of two pools, each in whole grains") {
  // Slots of 3 and 5 bytes in grains of 8: 4 ids take ceil(12 / 8) + ceil(20 / 8) = 2 + 3 grains, 5 ids 2 + 4.
  const std::vector<std::int64_t> ids{3, 5};
  CHECK(grains_of(4, ids, 8) == 5);
  CHECK(grains_of(5, ids, 8) == 6);
  CHECK(ids_in(5, ids, 8) == 4);
  CHECK(ids_in(6, ids, 8) == 5);
  CHECK(ids_in(2, ids, 8) == 1);
  CHECK(ids_in(1, ids, 8) == 0);
}

TEST_CASE("golden: memory is filled in by weight, the lighter group first") {
  // 10 grains of 8 bytes at weights 3 and 1: the lighter group gets round(10 / 4) = round(2.5) = 2 (half to even),
  // 16 bytes, 2 ids of 8; the other one the 8 grains that are left, 64 bytes, 21 ids of 3.
  const std::vector<GroupOfPools> groups{{{3}, 3, 1}, {{8}, 1, 1}};
  CHECK(fill_groups(10, groups, 8) == std::vector<std::int64_t>{21, 2});
  // 7 ids at least of 8 bytes: 7 grains, and 3 grains are left for the other one.
  CHECK(fill_groups(10, std::vector<GroupOfPools>{{{3}, 3, 1}, {{8}, 1, 7}}, 8) == std::vector<std::int64_t>{8, 7});
}

TEST_CASE("law: no grain is given twice, no slot more would fit a group, nobody has less than the least") {
  CHECK(rc::check([] {
    const std::int64_t grain = *rc::gen::inRange<std::int64_t>(1, 50);
    std::vector<GroupOfPools> groups;
    const int count = *rc::gen::inRange(1, 4);
    std::int64_t needed = 0;
    for (int i = 0; i < count; ++i) {
      GroupOfPools& group = groups.emplace_back();
      group.weight = *rc::gen::inRange(1, 100);
      group.least_ids = *rc::gen::inRange<std::int64_t>(1, 5);
      const int pools = *rc::gen::inRange(1, 4);
      for (int j = 0; j < pools; ++j) group.id_bytes.push_back(*rc::gen::inRange<std::int64_t>(1, 200));
      needed += grains_of(group.least_ids, group.id_bytes, grain);
    }
    const std::int64_t grains = needed + 1 + *rc::gen::inRange<std::int64_t>(0, 500);
    const std::vector<std::int64_t> ids = fill_groups(grains, groups, grain);
    std::int64_t used = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      RC_ASSERT(ids[i] >= groups[i].least_ids);
      const std::int64_t own = grains_of(ids[i], groups[i].id_bytes, grain);
      used += own;
      RC_ASSERT(ids_in(own, groups[i].id_bytes, grain) == ids[i]);
      RC_ASSERT(grains_of(ids[i] + 1, groups[i].id_bytes, grain) > own);
    }
    RC_ASSERT(used <= grains);
  }));
}
