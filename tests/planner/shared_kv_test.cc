// Layers that read the K and V of others, which cache nothing but an indexer of their own.
#include <doctest/doctest.h>

#include "engines/vllm/rules.h"
#include "planner/indexers.h"
#include "planner/plan.h"
#include "planner/shared_layers.h"
#include "tests/planner/arrangement_laws.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using testing::gib;

namespace {

LayerSpec sharing(std::int64_t source, std::optional<IndexerSpec> indexer = std::nullopt) {
  return {.shared = SharedKv{source, 8, indexer}};
}

/// Gemma-3n in small: windows but for every 5th layer, of 30 layers the last ten read layers 18 and 19.
ModelSpec gemma3n() {
  ModelSpec model{.name = "gemma-3n"};
  const AttentionSpec full = testing::full_attention(2, 256, 8);
  AttentionSpec window = testing::sliding_attention(2, 256, 512);
  window.query_heads = 8;
  for (std::int64_t i = 0; i < 20; ++i) model.layers.push_back({i % 5 == 4 ? full : window, std::nullopt});
  for (std::int64_t i = 20; i < 30; ++i) model.layers.push_back(sharing(i % 5 == 4 ? 19 : 18));
  return model;
}

/// Every second layer keeps keys to choose by, and reads the latents of the one before it.
ModelSpec index_keys_alone() {
  ModelSpec model{.name = "index keys alone"};
  for (std::int64_t i = 0; i < 8; ++i) {
    if (i % 2 == 0)
      model.layers.push_back({testing::latent_attention(512, 64), std::nullopt});
    else
      model.layers.push_back(sharing(i - 1, IndexerSpec{132, 1}));
  }
  return model;
}

CachePlan plan_of(const ModelSpec& model, const EngineRules& rules = rules_of_vllm_0_33) {
  return make_plan(model, {.rules = &rules, .cache_mode = CacheMode::align, .memory_bytes = 20 * gib},
                   {.max_model_lens = {8192}});
}

ModelSpec without_sharers(ModelSpec model) {
  for (LayerSpec& layer : model.layers) layer.shared.reset();
  return model;
}

}  // namespace

TEST_CASE("law: layers that share K and V change no byte") {
  for (const EngineRules* const rules : {&rules_of_vllm_0_33, default_rules()}) {
    const CachePlan with = plan_of(gemma3n(), *rules), without = plan_of(without_sharers(gemma3n()), *rules);
    CHECK(static_cast<const Arrangement&>(with) == static_cast<const Arrangement&>(without));
    CHECK(with.capacity == without.capacity);
    CHECK(with.views == without.views);
    CHECK(testing::broken_law(with) == "");
  }
}

TEST_CASE("golden: who reads whom is in the plan and said in words") {
  const CachePlan plan = plan_of(gemma3n());
  CHECK(plan.shared_kv.size() == 10);
  CHECK(plan.shared_kv.front() == SharedLayer{20, 18});
  CHECK(shared_layers_text(plan.shared_kv) == "layers 20 to 29 read the K and V of layers 18 and 19");
  CHECK(shared_layers_text(std::vector<SharedLayer>{{5, 2}}) == "layer 5 reads the K and V of layer 2");
  CHECK(std::count_if(plan.derivation.begin(), plan.derivation.end(), [](const Decision& decision) {
          return decision.result.symbol == "layers without K and V of their own";
        }) == 1);
}

TEST_CASE("golden: a layer may cache the keys of its indexer alone") {
  const CachePlan plan = plan_of(index_keys_alone());
  REQUIRE(plan.specs.size() == 2);
  CHECK(plan.specs[0].layers == std::vector<std::int64_t>{0, 2, 4, 6});
  CHECK(plan.specs[1].is_indexer());
  CHECK(plan.specs[1].layers == std::vector<std::int64_t>{1, 3, 5, 7});
  CHECK(plan.arenas.front().bytes_per_id == plan.specs[0].block_size_tokens * 4 * (576 * 2 + 132));
  CHECK(testing::broken_law(plan) == "");
  const CachePlan beside = plan_of(index_keys_alone(), *default_rules());
  CHECK(beside.extras.front().bytes_per_block == beside.specs[0].block_size_tokens * 4 * 132);
}

TEST_CASE("edge: what is no earlier layer with K and V cannot be read") {
  for (const std::int64_t source : {-1, 20, 25, 40}) {
    ModelSpec model = gemma3n();
    model.layers[20].shared->source = source;
    CHECK_THROWS_WITH_AS(plan_of(model), doctest::Contains("model.layers[20].shared.source: is layer"), SpecError);
  }
  // Nor does a layer read its own, where it has some.
  ModelSpec model = gemma3n();
  model.layers[20].attention = model.layers[18].attention;
  model.layers[20].shared->source = 20;
  CHECK_THROWS_WITH_AS(plan_of(model),
                       "model.layers[20].shared.source: is layer 20, which is no earlier layer with K and V of its own",
                       SpecError);
  model = gemma3n();
  model.layers[20].shared->query_heads = 3;
  CHECK_THROWS_WITH_AS(plan_of(model),
                       "model.layers[20].shared.query_heads: 3 query heads do not divide over the 2 KV heads of layer "
                       "18; take a multiple",
                       SpecError);
  model.layers[20].shared->query_heads = 0;
  CHECK_THROWS_WITH_AS(plan_of(model), "model.layers[20].shared.query_heads: must be at least 1, is 0", SpecError);
  model = gemma3n();
  model.layers[20].shared->indexer = IndexerSpec{132, 1};
  CHECK_THROWS_WITH_AS(plan_of(model), doctest::Contains("a layer with a window of 512 tokens chooses among none"),
                       SpecError);
}

TEST_CASE("edge: ranks share the query heads of every layer, and stages keep readers with what they read") {
  ModelSpec model = gemma3n();
  model.layers[20].shared->query_heads = 10;
  EngineSpec engine{.rules = &rules_of_vllm_0_33, .tensor_parallel = 4, .memory_bytes = 20 * gib};
  CHECK_THROWS_WITH_AS(make_plan(model, engine, {.max_model_lens = {8192}}),
                       doctest::Contains("4 ranks cannot share 10 query heads"), SpecError);
  engine.tensor_parallel = 1;
  engine.pipeline_parallel = 2;
  // 15 layers each: layers 18 and 19 are where their readers are.
  CHECK_NOTHROW(make_plan(gemma3n(), engine, {.max_model_lens = {8192}}));
  engine.pipeline_layers = {19, 11};
  CHECK_THROWS_WITH_AS(make_plan(gemma3n(), engine, {.max_model_lens = {8192}}),
                       "engine.pipeline_parallel: layer 20 reads the K and V of layer 18, which is on another stage; "
                       "take fewer stages, or others by engine.pipeline_layers",
                       SpecError);
  engine.pipeline_layers = {18, 12};
  CHECK(make_plan(gemma3n(), engine, {.max_model_lens = {8192}}).shared_kv.size() == 10);
}
