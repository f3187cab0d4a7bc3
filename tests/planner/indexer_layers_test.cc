// Indexers of some layers, and entries that several tokens share.
#include <doctest/doctest.h>

#include <algorithm>

#include "engines/sglang/rules.h"
#include "engines/vllm/rules.h"
#include "planner/allocated_tensors.h"
#include "planner/indexers.h"
#include "planner/plan.h"
#include "planner/tree_settings.h"
#include "tests/planner/arrangement_laws.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using testing::gib;

namespace {

/// MiniMax-M3: 60 layers, an indexer of 256 bytes a token beside all but the first three.
ModelSpec minimax_m3() {
  ModelSpec model;
  model.name = "MiniMax-M3";
  model.layers.assign(60, LayerSpec{testing::full_attention(4, 128, 64), std::nullopt});
  for (std::size_t i = 3; i < 60; ++i) model.layers[i].attention->indexer = IndexerSpec{256, 1};
  return model;
}

/// GLM-5.3-Flash by the defaults of its class: 132 bytes for 16 tokens.
ModelSpec pooled_glm() {
  ModelSpec model = without_indexers(testing::glm_flash());
  model.extra_blocks_per_request = 0;
  add_indexers(model, {132, 16});
  return model;
}

EngineSpec engine_of(const EngineRules& rules, std::int64_t ranks = 1) {
  return {.rules = &rules, .tensor_parallel = ranks, .cache_mode = CacheMode::align, .memory_bytes = 60 * gib};
}

CachePlan plan_of(const ModelSpec& model, const EngineSpec& engine) {
  return make_plan(model, engine, {.max_model_lens = {8192}});
}

}  // namespace

TEST_CASE("golden: an indexer of 57 of 60 layers lies in the table of all, and counts for 57") {
  // vLLM 0.33: full attention and latents are one kind, and pages of one kind and block may differ in one group.
  for (const std::int64_t ranks : {1, 2, 4}) {
    const CachePlan plan = plan_of(minimax_m3(), engine_of(rules_of_vllm_0_33, ranks));
    REQUIRE(plan.groups.size() == 2);
    CHECK(plan.groups[1].shares_table);
    CHECK(plan.specs[1].layers.front() == 3);
    CHECK(plan.specs[1].layers.size() == 57);
    const std::int64_t block = plan.specs[0].block_size_tokens;
    CHECK(plan.arenas.front().bytes_per_id == block * (60 * 4 / ranks * 128 * 2 * 2 + 57 * 256));
    if (ranks == 1 && block == 16) CHECK(plan.num_blocks() == 29'289);  // as its own functions give it, run
    CHECK(testing::broken_law(plan) == "");
  }
}

TEST_CASE("golden: layers of one kind lie in four orders with their indexers, of several kinds in two") {
  // vLLM 0.33 takes both for the former, and the same bytes, run.
  EngineSpec engine = engine_of(rules_of_vllm_0_33);
  for (const CacheOrder order : {CacheOrder::lbnhc, CacheOrder::lbhnc, CacheOrder::blnhc, CacheOrder::blhnc}) {
    engine.cache_order = order;
    const CachePlan plan = plan_of(minimax_m3(), engine);
    CHECK(plan.num_blocks() == 29'289);
    CHECK(plan.view_error.empty());
    CHECK(testing::broken_law(plan) == "");
    // Where its functions put the rows of the first indexer.
    const bool layers_outside = order == CacheOrder::lbnhc || order == CacheOrder::lbhnc;
    const AllocatedTensor indexers = allocated_tensors(plan).back();
    CHECK(indexers.layers.front() == 3);
    CHECK(indexers.layer_stride == (layers_outside ? 119'967'744 : 4096));
    CHECK(indexers.block_stride == (layers_outside ? 4096 : 2'199'552));
    CHECK(indexers.offset_bytes == (layers_outside ? 57'584'517'120 : 1'966'080));
  }
  engine.cache_order = CacheOrder::bhlnc;
  CHECK_THROWS_AS(plan_of(minimax_m3(), engine), SpecError);
  engine.cache_order = CacheOrder::lbnhc;
  CHECK_THROWS_AS(plan_of(pooled_glm(), engine), SpecError);
}

TEST_CASE("golden: the same beside the pages of rules without one allocation") {
  const CachePlan plan = plan_of(minimax_m3(), {.cache_mode = CacheMode::none, .memory_bytes = 60 * gib});
  REQUIRE(plan.extras.size() == 1);
  CHECK(plan.extras[0].what == "indexer, 256 bytes a token and layer");
  CHECK(plan.extras[0].bytes_per_block == 57 * 256 * plan.specs[0].block_size_tokens);
  // In the rule of what an id costs they stand behind the pools, counted from 0 as everything is.
  const auto id = std::find_if(plan.derivation.begin(), plan.derivation.end(), [](const Decision& decision) {
    return decision.result.symbol == "bytes of a block id";
  });
  REQUIRE(id != plan.derivation.end());
  CHECK(id->rule == "bytes = g * P + extra 0");
  CHECK(id->inputs.back() == Term{"extra 0", plan.extras[0].bytes_per_block, "bytes"});
}

TEST_CASE("golden: in the rule of what indexers take beside a block the second one has a number") {
  ModelSpec two = minimax_m3();
  two.layers[7].attention->indexer = IndexerSpec{132, 16};
  const auto bytes_beside = [](const ModelSpec& model) {
    const CachePlan plan = plan_of(model, {.cache_mode = CacheMode::none, .memory_bytes = 60 * gib});
    const auto found = std::find_if(plan.derivation.begin(), plan.derivation.end(), [](const Decision& decision) {
      return decision.result.symbol.starts_with("bytes beside each block: indexer");
    });
    REQUIRE(found != plan.derivation.end());
    return *found;
  };
  CHECK(bytes_beside(minimax_m3()).rule == "bytes = indexer * layers with indexers 0 * block 0");
  const Decision both = bytes_beside(two);
  CHECK(both.rule == "bytes = indexer * layers with indexers 0 * block 0 + "
                     "indexer 1 * layers with indexers 0 1 * entries of a block 0 1");
  // Blocks of 16 tokens: 56 layers of 256 bytes a token, and one of a single entry of 132 bytes.
  CHECK(std::get<std::int64_t>(both.result.value) == 56 * 256 * 16 + 132);
}

TEST_CASE("golden: 16 tokens share an entry of 132 bytes") {
  const CachePlan plan = plan_of(pooled_glm(), engine_of(rules_of_vllm_0_33));
  const auto spec = std::find_if(plan.specs.begin(), plan.specs.end(), [](const auto& s) { return s.is_indexer(); });
  REQUIRE(spec != plan.specs.end());
  CHECK(spec->unpadded_page_bytes == spec->block_size_tokens / 16 * 132);
  const auto view = std::find_if(plan.views.begin(), plan.views.end(),
                                 [&](const ViewPlan& one) { return one.spec == spec->id; });
  REQUIRE(view != plan.views.end());
  CHECK(view->bytes.extent("token") == spec->block_size_tokens / 16);
  CHECK(view->bytes.extent("channel") == 132);
  // As its own functions plan this model for 60 GiB, run.
  CHECK(spec->block_size_tokens == 4352);
  CHECK(plan.arenas.front().bytes_per_id == 49'415'872);
  CHECK(plan.num_blocks() == 1303);
  CHECK(testing::broken_law(plan) == "");
}

TEST_CASE("law: entries of one token, and the same bytes for several together, make equal blocks") {
  ModelSpec together = testing::glm_flash();
  together = without_indexers(std::move(together));
  add_indexers(together, {132, 4});
  for (const EngineRules* const rules : {&rules_of_vllm_0_33, default_rules()}) {
    const CachePlan one = plan_of(testing::glm_flash(), engine_of(*rules));
    const CachePlan four = plan_of(together, engine_of(*rules));
    CHECK(one.arenas.front().bytes_per_id == four.arenas.front().bytes_per_id);
    CHECK(one.num_blocks() == four.num_blocks());
    CHECK(one.capacity.front().max_concurrency == four.capacity.front().max_concurrency);
  }
}

TEST_CASE("edge: a block has to hold whole entries") {
  ModelSpec model = minimax_m3();
  for (LayerSpec& layer : model.layers) layer.attention->indexer = IndexerSpec{132, 48};
  for (const EngineRules* const rules : {&rules_of_vllm_0_33, default_rules()}) {
    EngineSpec engine = engine_of(*rules);
    engine.block_size_tokens = 64;
    CHECK_THROWS_WITH_AS(plan_of(model, engine),
                         "engine.block_size_tokens: a block of 64 tokens holds no whole number of the indexer's "
                         "entries, of which each stands for 48; take a multiple of 48",
                         SpecError);
  }
}

TEST_CASE("edge: a page of a radix tree has to hold whole entries too") {
  EngineSpec engine = engine_of(rules_of_sglang_0_5_23);
  engine.strategy = Strategy::dual_pool;
  engine.own.set(tree_key::mamba_radix_cache_strategy, TreeStrategy::extra_buffer);
  ModelSpec model = pooled_glm();
  const CachePlan plan = plan_of(model, engine);
  CHECK(plan.extras.front().bytes_per_block == 11 * 132 * 64 / 16);
  CHECK(plan.tree_pools->token_bytes == 11 * (512 * 2 + 9));  // 8.25 bytes, rounded up where memory is split
  CHECK(testing::broken_law(plan) == "");
  engine.own.set(tree_key::page_size, 8);
  CHECK_THROWS_WITH_AS(plan_of(model, engine), doctest::Contains("stands for 16 tokens of a page"), SpecError);
}

TEST_CASE("edge: a model has one indexer where all layers that see every token have the same") {
  CHECK(has_one_indexer(testing::glm_flash()));
  CHECK_FALSE(has_one_indexer(minimax_m3()));  // three layers have none
  CHECK_FALSE(has_one_indexer(without_indexers(minimax_m3())));
  ModelSpec two = testing::glm_flash();
  two.layers[7].attention->indexer = IndexerSpec{132, 16};
  CHECK_FALSE(has_one_indexer(two));
}

TEST_CASE("golden: layers behind the model have the indexer of its MTP layer, else of its first layer that sees all") {
  ModelSpec model;
  model.layers = {{std::nullopt, testing::qwen_gdn(1, 1)},
                  {testing::sliding_attention(2, 8, 64), std::nullopt},
                  {testing::full_attention(2, 8), std::nullopt},
                  {testing::full_attention(2, 8), std::nullopt}};
  model.layers[2].attention->indexer = IndexerSpec{132, 16};
  model.layers[3].attention->indexer = IndexerSpec{33, 1};
  CHECK(indexer_of(model, 4) == IndexerSpec{132, 16});
  model.mtp = testing::full_attention(2, 8);
  CHECK_FALSE(indexer_of(model, 4).has_value());
  model.mtp->indexer = IndexerSpec{64, 1};
  CHECK(indexer_of(model, 4) == IndexerSpec{64, 1});
}

TEST_CASE("edge: a layer with a window has no indexer") {
  ModelSpec model = minimax_m3();
  model.layers[5].attention->kind = AttentionKind::sliding_window;
  model.layers[5].attention->window_tokens = 128;
  CHECK_THROWS_WITH_AS(plan_of(model, engine_of(rules_of_vllm_0_33)),
                       doctest::Contains("model.layers[5].attention.indexer_bytes_per_entry: is 256, but a layer with "
                                         "a window of 128 tokens chooses among none"),
                       SpecError);
}
