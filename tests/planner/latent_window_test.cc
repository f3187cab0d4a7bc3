// Latents of which only a window is kept, SlidingWindowMLASpec in vLLM 0.33.
#include <doctest/doctest.h>

#include <algorithm>

#include "base/checked.h"
#include "engines/vllm/rules.h"
#include "planner/allocated_tensors.h"
#include "planner/plan.h"
#include "tests/planner/arrangement_laws.h"
#include "tests/planner/models.h"
#include "tests/planner/records_vllm_0_33.h"

using namespace hybridkv;
using testing::gib, testing::tables_of;

namespace {

AttentionSpec windowed_latent(std::int64_t rank, std::int64_t rope, std::int64_t window) {
  AttentionSpec layer = testing::latent_attention(rank, rope);
  layer.window_tokens = window;
  return layer;
}

/// dots3_note by its class: 13 latents of 576 with an indexer of 132 bytes, 33 latents of 1,088 in windows of 512.
ModelSpec dots3_note() {
  ModelSpec model{.name = "dots3_note"};
  AttentionSpec full = testing::latent_attention(512, 64);
  full.indexer = IndexerSpec{132, 1};
  for (std::int64_t i = 0; i < 46; ++i)
    model.layers.push_back({i < 2 || (i - 1) % 4 == 0 ? full : windowed_latent(1024, 64, 512), std::nullopt});
  return model;
}

EngineSpec latent_engine(CacheOrder order) {
  EngineSpec engine{.rules = &rules_of_vllm_0_33, .cache_mode = CacheMode::align, .memory_bytes = 60 * gib};
  engine.block_size_tokens = 16;
  engine.max_num_batched_tokens = 8192;
  engine.cache_order = order;
  return engine;
}

CachePlan latent_plan(const ModelSpec& model, const EngineSpec& engine) {
  return make_plan(model, engine, {.max_model_lens = {32'768}});
}

}  // namespace

TEST_CASE("golden: latents with a window beside others and their indexers share blocks by the rules of mixed pages") {
  // Latents and indexers are one balanced bucket of 13 repeats, windows one of 33: 17 repeats a table leave the fewest
  // places empty (4 + 1), so that one table has the former and two have the latter.
  const CachePlan plan = latent_plan(dots3_note(), latent_engine(CacheOrder::blnhc));
  const auto tables = tables_of(plan);
  REQUIRE(tables.size() == 3);
  CHECK(tables[0].size() == 2);
  const std::int64_t block = plan.specs[0].block_size_tokens;
  for (const SpecPlan& spec : plan.specs) CHECK(spec.block_size_tokens == block);  // latents have no block of their own
  CHECK(plan.arenas.front().bytes_per_id == block * 17 * 1088 * 2);
  // As its own functions give them for 60 GiB, run.
  CHECK(plan.arenas.front().bytes_per_id == 591'872);
  CHECK(plan.num_blocks() == 108'848);
  CHECK(plan.capacity.front().blocks_per_request == 4162);
  CHECK(plan.capacity.front().max_concurrency == 26.152811148486304);
  const std::int64_t tensors[][5] = {{0, 13, 18'432, 591'872, 0},
                                     {0, 13, 2112, 591'872, 239'616},
                                     {2, 17, 34'816, 591'872, 0},
                                     {3, 16, 34'816, 591'872, 0}};
  const std::vector<AllocatedTensor> ours = allocated_tensors(plan);
  REQUIRE(ours.size() == std::size(tensors));
  for (std::size_t i = 0; i < ours.size(); ++i) {
    CHECK(ours[i].layers.front() == tensors[i][0]);
    CHECK(std::ssize(ours[i].layers) == tensors[i][1]);
    CHECK(ours[i].layer_stride == tensors[i][2]);
    CHECK(ours[i].block_stride == tensors[i][3]);
    CHECK(ours[i].offset_bytes == tensors[i][4]);
  }
  CHECK(testing::broken_law(plan) == "");
}

TEST_CASE("golden: a request holds its window and what is in flight, and a block that is begun") {
  const CachePlan plan = latent_plan(dots3_note(), latent_engine(CacheOrder::blnhc));
  const std::int64_t block = plan.specs[0].block_size_tokens;
  const std::int64_t in_flight = plan.max_num_batched_tokens * plan.concurrent_batches;
  const std::int64_t windows = ceil_div(std::min<std::int64_t>(511 + in_flight, 32'768), block) + 1;
  CHECK(plan.capacity.front().blocks_per_request == ceil_div(32'768, block) + 2 * windows);
}

TEST_CASE("golden: where pages have one size, a latent with a window is padded and one without is refused") {
  ModelSpec model{.name = "small windows"};
  for (int i = 0; i < 4; ++i)
    model.layers.push_back({i % 2 == 0 ? testing::latent_attention(512, 64) : windowed_latent(256, 64, 512),
                            std::nullopt});
  const CachePlan plan = latent_plan(model, latent_engine(CacheOrder::lbnhc));
  CHECK(plan.page_bytes() == plan.specs[0].block_size_tokens * 576 * 2);
  CHECK(plan.num_blocks() == 1'747'626);  // run
  CHECK(plan.capacity.front().blocks_per_request == 3105);
  CHECK(plan.specs[1].unpadded_page_bytes == plan.specs[1].block_size_tokens * 320 * 2);
  CHECK_THROWS_WITH_AS(latent_plan(dots3_note(), latent_engine(CacheOrder::lbnhc)),
                       doctest::Contains("engine.physical_order"), SpecError);
  for (LayerSpec& layer : model.layers)
    if (layer.attention->window_tokens == 0) layer.attention = testing::latent_attention(128, 32);
  CHECK(latent_plan(model, latent_engine(CacheOrder::lbnhc)).specs[0].block_size_tokens ==
        2 * latent_plan(model, latent_engine(CacheOrder::lbnhc)).specs[1].block_size_tokens);
}

TEST_CASE("law: without a manager of several kinds latents keep every token") {
  ModelSpec model{.name = "latents"}, whole{.name = "latents"};
  for (int i = 0; i < 6; ++i) {
    model.layers.push_back({windowed_latent(512, 64, i % 2 == 0 ? 0 : 512), std::nullopt});
    whole.layers.push_back({testing::latent_attention(512, 64), std::nullopt});
  }
  EngineSpec engine = latent_engine(CacheOrder::lbnhc);
  engine.hybrid_manager = false;
  CHECK(latent_plan(model, engine).specs == latent_plan(whole, engine).specs);
}
