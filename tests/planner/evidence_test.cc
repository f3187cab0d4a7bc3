#include "planner/evidence.h"

#include <doctest/doctest.h>

#include "engines/compact_slots/rules.h"
#include "engines/jenga/rules.h"
#include "engines/sglang/rules.h"
#include "engines/vllm/rules.h"
#include "planner/plan.h"
#include "tests/planner/models.h"

using namespace hybridkv;

namespace {

Evidence evidence_of_plan(const EngineSpec& engine) {
  return evidence_of(make_plan(testing::qwen35_397b(), engine, {.max_model_lens = {32'768}}));
}

}  // namespace

TEST_CASE("rule: what the engine arranges itself was run, other strategies are ours, packs in 0.33 a builder's") {
  EngineSpec engine{.tensor_parallel = 2, .cache_mode = CacheMode::align, .memory_bytes = 40 * testing::gib};
  CHECK(evidence_of_plan(engine) == Evidence::run);
  engine.attention_pack_size = 3;
  CHECK(evidence_of_plan(engine) == Evidence::run);  // PR 35703
  engine.rules = &rules_of_vllm_0_33;
  CHECK(evidence_of_plan(engine) == Evidence::builder);
  EngineRules without_builder = rules_of_vllm_0_33;
  without_builder.builder = {};
  engine.rules = &without_builder;
  CHECK(evidence_of_plan(engine) == Evidence::modelled);
  engine.rules = &rules_of_vllm_0_33;
  engine.attention_pack_size = 1;
  CHECK(evidence_of_plan(engine) == Evidence::run);
  engine.strategy = Strategy::small_pages;
  CHECK(evidence_of_plan(engine) == Evidence::modelled);
  engine.rules = &rules_of_sglang_0_5_23;
  engine.strategy = Strategy::dual_pool;
  CHECK(evidence_of_plan(engine) == Evidence::run);
}

TEST_CASE("rule: Jenga and compact slots are read, as releases of their own and as strategies of another") {
  EngineSpec engine{.tensor_parallel = 2, .cache_mode = CacheMode::align, .memory_bytes = 40 * testing::gib};
  for (const auto& [rules, strategy] : {std::pair{&rules_of_jenga, Strategy::two_level},
                                          std::pair{&rules_of_compact_slots, Strategy::compact_slots}}) {
    CHECK(rules->strategy == strategy);
    CHECK(!rules->assumptions.empty());
    engine.strategy = strategy;
    for (const EngineRules* const with : {rules, &rules_of_vllm_2026_06}) {
      engine.rules = with;
      CHECK(evidence_of_plan(engine) == Evidence::source_only);
    }
  }
}

TEST_CASE("rule: an engine that was not run says what is assumed of it") {
  for (const EngineRules* const rules : all_engine_rules()) {
    CAPTURE(rules->title);
    CHECK((!rules->source_only || !rules->assumptions.empty()));
  }
}

TEST_CASE("rule: no engine was run with a model without attention") {
  ModelSpec model;
  model.layers.assign(4, {.recurrent = RecurrentSpec{Mamba1Spec{.inner_size = 64, .state_size = 16}}});
  const EngineSpec engine{.memory_bytes = std::int64_t{1} << 30};
  CHECK(evidence_of(make_plan(model, engine, {.max_model_lens = {1024}})) == Evidence::source_only);
}
