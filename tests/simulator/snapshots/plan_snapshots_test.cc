// The settings of a cache with snapshots, as a plan has them.
#include "simulator/snapshots/plan_snapshots.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "engines/tensorrt_llm/rules.h"
#include "planner/group_settings.h"
#include "planner/plan.h"
#include "tests/planner/models.h"

using namespace hybridkv;

TEST_CASE("golden: the pools of Qwen3.5-397B and its snapshots are the plan's, and none that cannot be are taken") {
  EngineSpec engine{.rules = &rules_of_tensorrt_llm, .tensor_parallel = 2, .strategy = Strategy::pool_groups,
                    .cache_mode = CacheMode::align, .memory_bytes = 40 * testing::gib};
  engine.own.set(group_key::max_batch_size, 64);
  engine.own.set(group_key::offsets_from_end, {0});
  CachePlan plan = make_plan(testing::qwen35_397b(), engine, {.max_model_lens = {32'768}});
  const SnapshotSettings settings = snapshot_settings_of(plan);
  CHECK(settings.blocks == 62'668);
  CHECK(settings.states == 248);
  CHECK(settings.block_tokens == 32);
  CHECK(settings.points.from_end == std::vector<std::int64_t>{0});
  plan.pool_groups->points.from_end = {-1};
  CHECK_THROWS_WITH_AS(snapshot_settings_of(plan), "snapshots.from_end: must be at least 0, is -1", SpecError);
}
