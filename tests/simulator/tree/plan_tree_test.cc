#include "simulator/tree/plan_tree.h"

#include <doctest/doctest.h>

#include "engines/sglang/rules.h"
#include "planner/plan.h"
#include "planner/tree_settings.h"
#include "tests/planner/models.h"

using namespace hybridkv;

namespace {

EngineSpec sglang() {
  return {.rules = &rules_of_sglang_0_5_23, .tensor_parallel = 2, .strategy = Strategy::dual_pool,
          .cache_mode = CacheMode::align, .memory_bytes = 40 * testing::gib};
}

TreeSettings settings_of(const EngineSpec& engine, const ModelSpec& model = testing::qwen35_397b()) {
  return tree_settings_of(make_plan(model, engine, {.max_model_lens = {262'144}}), model, engine);
}

}  // namespace

TEST_CASE("golden: the pools of Qwen3.5-397B are those of the recorded replays") {
  CHECK(settings_of(sglang()) == TreeSettings{.token_slots = 1'477'030, .state_slots = 210, .max_running = 42});
  EngineSpec engine = sglang();
  engine.own.set(tree_key::page_size, 16);
  engine.max_num_batched_tokens = 2'050;
  CHECK(settings_of(engine) ==
        TreeSettings{.token_slots = 1'477'024, .state_slots = 210, .page = 16, .chunk_tokens = 2'048,
                                            .max_running = 42});
  engine.own.set(tree_key::page_size, 64);
  CHECK(settings_of(engine).token_slots == 1'476'992);
}

TEST_CASE("law: the grids of the tree are those of the plan") {
  for (const std::int64_t page : {1, 16, 64, 128, 256})
    for (const ModelSpec& model : {testing::qwen35_397b(), testing::granite_h_small(), testing::lfm25()}) {
      EngineSpec engine = sglang();
      engine.own.set(tree_key::page_size, page);
      engine.own.set(tree_key::mamba_track_interval, 512);
      const CachePlan plan = make_plan(model, engine, {.max_model_lens = {262'144}});
      const TreeSettings settings = tree_settings_of(plan, model, engine);
      CHECK(settings.checkpoint_grid() == plan.tree_pools->checkpoint_tokens);
      CHECK(settings.decode_grid() == plan.tree_pools->decode_tokens);
    }
}

TEST_CASE("edge: a plan without a tree has no settings, nor one whose chunks are shorter than a page") {
  EngineSpec engine = sglang();
  engine.cache_mode = CacheMode::none;
  CHECK_THROWS_AS(settings_of(engine), SpecError);
  engine = sglang();
  engine.own.set(tree_key::page_size, 128);
  engine.max_num_batched_tokens = 100;
  CHECK_THROWS_AS(settings_of(engine), SpecError);
}
