// Settings under which vLLM is asked what it plans.
#include "engines/vllm/conformance.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Is anything asked about drafts of the model?
bool asks_of_drafts(const ModelSpec& model) {
  const std::vector<EngineSpec> grid = conform_settings_of_vllm(model);
  return std::any_of(grid.begin(), grid.end(), [](const EngineSpec& engine) { return engine.speculative_tokens > 0; });
}

ModelSpec model_of_layer(const LayerSpec& layer) {
  ModelSpec model;
  model.name = "four alike";
  model.layers.assign(4, layer);
  return model;
}

}  // namespace

TEST_CASE("rule: drafts are asked about where a layer attends to all tokens of the model's own") {
  CHECK(asks_of_drafts(qwen35_397b()));
  CHECK(asks_of_drafts(model_of_layer({.attention = full_attention(2, 64, 4)})));
  CHECK_FALSE(asks_of_drafts(model_of_layer({.attention = sliding_attention(2, 64, 128)})));
  CHECK_FALSE(asks_of_drafts(model_of_layer({.recurrent = qwen_gdn(4, 8)})));
  CHECK_FALSE(asks_of_drafts(whisper_large()));  // its layers attend to an encoder beside
}

TEST_CASE("rule: with an encoder steps are as long as the longest request, without one as the engine makes them") {
  const auto step = [](const ModelSpec& model) {
    return conform_settings_of_vllm(model).front().max_num_batched_tokens;
  };
  CHECK(step(qwen35_397b()) == EngineSpec{}.max_num_batched_tokens);
  CHECK(step(whisper_large()) == 32'768);
}

TEST_CASE("rule: memory that does not hold one request is asked about too") {
  const std::vector<EngineSpec> grid = conform_settings_of_vllm(qwen35_397b());
  // One of 32,768 tokens takes more than 600 MiB on two ranks.
  CHECK(std::count_if(grid.begin(), grid.end(), [](const EngineSpec& engine) {
    return engine.memory_bytes < 600 * mib;
  }) == 1);
}

TEST_CASE("law: every pack that a plug-in makes is asked about with nothing else changed") {
  const ModelSpec model = qwen35_397b();
  const std::vector<EngineSpec> built = conformance_of_vllm_0_33.built(model);
  EngineSpec usual = conform_settings_of_vllm(model).front();  // on one rank
  for (const std::int64_t pack : {1, 2, 3, 4, 5, 15}) {
    CAPTURE(pack);
    usual.attention_pack_size = pack;
    CHECK(std::count(built.begin(), built.end(), usual) == 1);
  }
}

TEST_CASE("rule: packs of one to five layers are asked about on two ranks too, and no others") {
  std::multiset<std::int64_t> packs;
  for (const EngineSpec& engine : conformance_of_vllm_0_33.built(qwen35_397b())) {
    if (engine.tensor_parallel == 1) continue;
    CHECK(engine.tensor_parallel == 2);
    packs.insert(engine.attention_pack_size);
  }
  CHECK(packs == std::multiset<std::int64_t>{1, 2, 3, 4, 5});
}

TEST_CASE("law: half of the random settings leave the order of pages to the engine, the others say each there is") {
  const ModelSpec model = qwen35_397b();
  constexpr int settings = 1000;
  int left = 0;
  std::set<CacheOrder> said;
  for (std::uint64_t key = 0; key < settings; ++key) {
    const EngineSpec engine = random_conform_setting_of_vllm(model, key);
    if (engine.cache_order) said.insert(*engine.cache_order);
    else ++left;
  }
  // Of 1,000 throws of a coin the heads are within 5 % of a half but once in 500 tries; a third is far from it.
  CHECK(left >= 450);
  CHECK(left <= 550);
  CHECK(said.size() == all_cache_orders.size());
}

TEST_CASE("law: random numbers of blocks have room for the null block and one more, up to 20,001") {
  const ModelSpec model = qwen35_397b();
  int asked = 0;
  for (std::uint64_t key = 0; key < 1000; ++key) {
    const EngineSpec engine = random_conform_setting_of_vllm(model, key);
    if (!engine.num_blocks) continue;
    ++asked;
    CHECK(*engine.num_blocks >= 2);
    CHECK(*engine.num_blocks <= 20'001);
  }
  CHECK(asked > 150);  // of a quarter of all
}
