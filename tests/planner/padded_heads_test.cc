// engine.pad_heads: ranks that cannot share the heads of a model.
#include "planner/padded_heads.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "planner/plan.h"
#include "tests/planner/models.h"
#include "tests/planner/random_specs.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

constexpr std::int64_t ranks = 3;

/// Eight layers, two of them attention, the others gdn.
ModelSpec model_with(std::int64_t query_heads, std::int64_t kv_heads, std::int64_t key_heads,
                     std::int64_t value_heads) {
  return qwen_hybrid("heads", 8, full_attention(kv_heads, 64, query_heads), qwen_gdn(key_heads, value_heads));
}

CachePlan plan_of(const ModelSpec& model, bool pads, std::int64_t tensor_parallel = ranks) {
  const EngineSpec engine{.tensor_parallel = tensor_parallel, .pad_heads = pads, .memory_bytes = 4 * gib};
  return make_plan(model, engine, {.max_model_lens = {8192}});
}

}  // namespace

TEST_CASE("edge: ranks that cannot share heads are refused with the option that pads them") {
  CHECK_THROWS_WITH_AS(plan_of(model_with(14, 2, 18, 54), false),
                       "engine.tensor_parallel: 3 ranks cannot share 14 query heads; take 1, 2; or "
                       "set engine.pad_heads to true, where the engine pads what ranks cannot share",
                       SpecError);
  CHECK_THROWS_WITH_AS(plan_of(model_with(21, 3, 16, 48), false),
                       "engine.tensor_parallel: 3 ranks cannot share 16 key heads and 48 value heads of a gdn layer; "
                       "take 1; or set engine.pad_heads to true, where the engine pads "
                       "what ranks cannot share",
                       SpecError);
}

TEST_CASE("edge: heads that no engine pads are refused without an offer, with the option as without it") {
  const ModelSpec model = hybrid_model("kda", 8, full_attention(2, 64, 4), KdaSpec{.heads = 32, .head_dim = 128},
                                       [](std::int64_t i) { return i % 4 == 3; });
  for (const bool pads : {false, true}) {
    const EngineSpec engine{.tensor_parallel = ranks, .pad_heads = pads, .memory_bytes = gib};
    ModelSpec shared = model;
    for (LayerSpec& layer : shared.layers)
      if (layer.attention) layer.attention = full_attention(3, 64, 6);
    CHECK_THROWS_WITH_AS(make_plan(shared, engine, {.max_model_lens = {8192}}),
                         (std::string("engine.tensor_parallel: 3 ranks cannot share 32 heads of a kda layer; take 1") +
                          (pads ? ", 2, 4, 8, 16, 32" : "")).c_str(),
                         SpecError);
  }
}

TEST_CASE("golden: with the option each rank holds its share of the padded heads, and explain says from which") {
  const CachePlan plan = plan_of(model_with(14, 2, 16, 48), true);
  const SpecPlan& states = plan.specs[0];
  const SpecPlan& attention = plan.specs[1];
  CHECK(states.state->tensors[1].layout.extent("head") == 18);  // 48 value heads on 16 key heads: 54 on 18
  CHECK(attention.attention->kv_heads == 1);                    // 14 on 2: 21 on 3
  CHECK(attention.attention->query_heads == 7);
  const auto padded = [&](const std::string& symbol) {
    const auto found = std::find_if(plan.derivation.begin(), plan.derivation.end(), [&](const Decision& decision) {
      return decision.result.symbol == symbol;
    });
    REQUIRE(found != plan.derivation.end());
    return std::get<std::int64_t>(found->result.value);
  };
  CHECK(padded("padded key_heads of spec 0 (gdn)") == 18);
  CHECK(padded("padded value_heads of spec 0 (gdn)") == 54);
  CHECK(padded("padded KV heads of spec 1 (full_attention)") == 3);
  CHECK(padded("padded query heads of spec 1 (full_attention)") == 21);
}

TEST_CASE("law: a padded model is planned as one that has those heads, and the option changes nothing that fits") {
  CachePlan padded = plan_of(model_with(14, 2, 16, 48), true);
  CachePlan whole = plan_of(model_with(21, 3, 18, 54), false);
  padded.derivation = whole.derivation = {};
  CHECK(padded == whole);
  CHECK(check_plans("padding", 500, SpecSize::real, [](const RandomSpecs& specs, const CachePlan& plan) {
    RandomSpecs other = specs;
    other.engine.pad_heads = false;
    try {
      RC_ASSERT(make_plan(other.model, other.engine, other.limits) == plan);
    } catch (const SpecError& refusal) {
      RC_ASSERT(specs.engine.pad_heads);
      RC_ASSERT(refusal.message().find("engine.pad_heads") != std::string::npos);
    }
  }));
}

TEST_CASE("golden: KV heads that ranks cannot share are counted as whole ones of each rank, one at least") {
  const auto counted = [](std::int64_t kv_heads, std::int64_t ranks_of_model) {
    LayerSet set;
    set.attention = full_attention(kv_heads, 64, 4 * kv_heads);
    return with_counted_heads(set, ranks_of_model).attention->kv_heads;
  };
  CHECK(counted(7, 3) == 2 * 3);
  CHECK(counted(6, 4) == 1 * 4);
  CHECK(counted(4, 3) == 1 * 3);
  CHECK(counted(3, 8) == 1 * 8);
  // Ranks share eight, and of two each is held by four.
  CHECK(counted(8, 4) == 8);
  CHECK(counted(2, 8) == 2);
}

TEST_CASE("edge: where the memory is too little for any number of ranks, the refusal says so and names none") {
  const EngineSpec engine{.tensor_parallel = ranks, .memory_bytes = 1 << 20};
  CHECK_THROWS_WITH_AS(make_plan(model_with(32, 2, 16, 48), engine, {.max_model_lens = {8192}}),
                       doctest::Contains("no number of ranks can be planned"), SpecError);
}
