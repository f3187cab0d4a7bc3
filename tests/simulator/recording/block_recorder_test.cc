// What a recording says of the groups of a plan.
#include "simulator/recording/block_recorder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "planner/plan.h"
#include "simulator/blocks/plan_geometry.h"
#include "tests/planner/models.h"

using namespace hybridkv;

TEST_CASE("golden: a recording of a plan names the layers and the bytes of a block of every group, of states too") {
  const EngineSpec engine{.tensor_parallel = 2, .cache_mode = CacheMode::align, .memory_bytes = 40 * testing::gib};
  const CachePlan plan = make_plan(testing::qwen35_397b(), engine, {.max_model_lens = {32768}});
  const Recording recording = recording_of(geometry_of(plan, engine), plan, engine);
  REQUIRE(recording.groups.size() == 4);
  // Every fourth of 60 layers has attention: K and V of 2,096 tokens, of one head of 256 channels on each rank.
  std::vector<std::int64_t> attention_layers, seen;
  for (std::int64_t layer = 3; layer < 60; layer += 4) attention_layers.push_back(layer);
  CHECK(recording.groups[0].layers == attention_layers);
  CHECK(recording.groups[0].block_bytes == 15 * 2096 * 2 * 256 * 2);
  for (const RecordedGroup& group : recording.groups) {
    seen.insert(seen.end(), group.layers.begin(), group.layers.end());
    if (&group == &recording.groups[0]) continue;
    // Of the 45 others each group has a third: 32 heads of 128 x 128 in fp32, and three columns of 6,144 channels.
    CHECK(group.is_state());
    CHECK(group.layers.size() == 15);
    CHECK(group.block_bytes == 15 * (32 * 128 * 128 * 4 + 3 * 6144 * 2));
  }
  std::vector<std::int64_t> all(60);
  std::iota(all.begin(), all.end(), 0);
  std::sort(seen.begin(), seen.end());
  CHECK(seen == all);
}
