#include "planner/tree_split.h"

#include <doctest/doctest.h>

#include "engines/sglang/rules.h"
#include "planner/plan.h"
#include "planner/tree_settings.h"
#include "tests/planner/models.h"

using namespace hybridkv;

namespace {

EngineSpec sglang(std::int64_t ranks = 2) {
  return {.rules = &rules_of_sglang_0_5_23,
          .tensor_parallel = ranks,
          .strategy = Strategy::dual_pool,
          .cache_mode = CacheMode::align,
          .memory_bytes = 40 * testing::gib};
}

CachePlan plan_of(const EngineSpec& engine, const ModelSpec& model = testing::qwen35_397b()) {
  return make_plan(model, engine, {.max_model_lens = {32'768}});
}

}  // namespace

TEST_CASE("golden: Qwen3.5-397B at TP2 and 40 GiB: 210 slots and 1,477,030 tokens beside their dummies") {
  const CachePlan plan = plan_of(sglang());
  REQUIRE(plan.arenas.size() == 2);
  CHECK(plan.arenas[0] == ArenaPlan{"tokens", 1'477'031, 15'360});
  CHECK(plan.arenas[1] == ArenaPlan{"states", 211, 96'030'720});
  CHECK(request_demand(plan, 32'768).ids == std::vector<std::int64_t>{32'768, 5});
  CHECK(plan.capacity.front().max_concurrency == 42);
  CHECK(plan.capacity.front().kv_cache_tokens == 1'477'030);
  CHECK(plan.max_fitting_tokens == 1'477'030);
  // 211 slots and 1,477,030 tokens; the dummy page is beside the memory.
  CHECK(plan.waste.unallocated_bytes == 40 * testing::gib - 211 * std::int64_t{96'030'720} -
                                            1'477'030 * std::int64_t{15'360});
  CHECK(plan.memory_bytes() == 40 * testing::gib);
}

TEST_CASE("golden: a token has the keys of the indexers too, and what a request has beside it lies outside") {
  EngineSpec engine = sglang(4);
  ModelSpec model = testing::glm_flash();
  model.ring_tokens = 4;
  model.ring_bytes_per_token = 512;
  engine.own.set(tree_key::page_size, 2);
  CHECK_THROWS_WITH_AS(plan_of(engine, model), doctest::Contains("stands for 4 tokens of a page"), SpecError);
  engine.own.reset(tree_key::page_size);
  const CachePlan plan = plan_of(engine, model);
  // 11 layers of a latent of 512 bf16 and 33 bytes: 11,627. K = floor((X * 0.9 / 1.9 - M) / M), M = 34 * 1,085,440.
  CHECK(plan.tree_pools->token_bytes == 11'627);
  CHECK(plan.tree_pools->split.state_slots == 550);
  // floor((40 GiB - 551 M) / 11,627) = 1,945,045, in whole pages.
  CHECK(plan.tree_pools->split.token_slots == 1'945'024);
  CHECK(plan.arenas[0].bytes_per_id == 64 * 11'627);
  CHECK(request_demand(plan, 32'768).ids == std::vector<std::int64_t>{512, 5});
  CHECK(plan.memory_bytes() == 40 * testing::gib);
  engine.kv_dtype = DType::fp8_e4m3;
  CHECK_THROWS_WITH_AS(plan_of(engine, model), doctest::Contains("engine.kv_dtype: is fp8_e4m3; "), SpecError);
}

TEST_CASE("golden: the bytes of drafts and rings lie beside the pools, within the memory") {
  EngineSpec engine = sglang();
  engine.speculative_tokens = 4;
  engine.mtp_layers = 1;
  engine.max_running_requests = 48;
  const CachePlan states = plan_of(engine);
  CHECK(states.tree_pools->token_bytes == 16'384);
  CHECK(states.tree_pools->split.state_slots == 114);
  CHECK(states.tree_pools->split.token_slots == 1'408'161);
  CHECK(states.memory_bytes() == 40 * testing::gib);
  CHECK(request_demand(states, 1).ids == std::vector<std::int64_t>{1, 5});
  engine.own.set(tree_key::linear_replayssm_spec, true);
  const CachePlan rings = plan_of(engine);
  CHECK(rings.tree_pools->split.state_slots == 203);
  CHECK(rings.memory_bytes() == 40 * testing::gib);
  CHECK(rings.tree_pools->outside_bytes() == rings.tree_pools->split.ring_bytes);
}

TEST_CASE("edge: tokens and states lie in one elastic buffer where the engine is asked for it, and only there") {
  EngineSpec engine = sglang();
  CHECK_FALSE(plan_of(engine).tree_pools->unified.has_value());
  engine.own.set(tree_key::unified_memory, false);
  CHECK_FALSE(plan_of(engine).tree_pools->unified.has_value());
  engine.own.set(tree_key::unified_memory, true);
  CHECK(plan_of(engine).tree_pools->unified.has_value());
}

TEST_CASE("law: states of prompts lie on the grid of page and scan, those of decoding on that of the interval") {
  EngineSpec engine = sglang();
  CHECK(plan_of(engine).tree_pools->checkpoint_tokens == 64);
  CHECK(plan_of(engine, testing::granite_h_small()).tree_pools->checkpoint_tokens == 256);
  engine.own.set(tree_key::page_size, 16);
  CHECK(plan_of(engine).tree_pools->checkpoint_tokens == 64);
  engine.own.set(tree_key::page_size, 128);
  engine.own.set(tree_key::mamba_track_interval, 384);
  const CachePlan plan = plan_of(engine);
  CHECK(plan.tree_pools->checkpoint_tokens == 128);
  CHECK(plan.tree_pools->decode_tokens == 384);
  CHECK(plan.prefix.match_unit_tokens == 128);
  CHECK(plan.prefix.duplicate_misses_up_to_tokens == 128);
  CHECK(plan.prefix.duplicate_misses_multiples_of_tokens == 128);
}

TEST_CASE("edge: without overlap and with pages of a token auto tracks nothing: copies hit where chunks ended") {
  EngineSpec engine = sglang();
  engine.own.set(tree_key::overlap_schedule, false);
  const CachePlan plan = plan_of(engine);
  CHECK(plan.tree_pools->strategy == TreeStrategy::no_buffer);
  CHECK(plan.tree_pools->split.state_slots_per_request == 3);
  CHECK(plan.prefix.match_unit_tokens == 1);
  CHECK(plan.prefix.duplicate_misses_up_to_tokens == 8'192);
  CHECK(!plan.prefix.duplicate_misses_multiples_of_tokens);
  engine.own.set(tree_key::page_size, 64);
  CHECK(plan_of(engine).tree_pools->strategy == TreeStrategy::extra_buffer);
  CHECK(plan_of(engine).tree_pools->split.state_slots_per_request == 4);
  engine.cache_mode = CacheMode::none;
  CHECK(plan_of(engine).tree_pools->split.state_slots_per_request == 1);
  CHECK(!plan_of(engine).prefix.cacheable);
}

TEST_CASE("law: element types are the engine's own: bf16 convolutions, fp32 states unless the model says otherwise") {
  ModelSpec model = testing::granite_h_small();
  model.dtype = DType::fp16;
  model.ssm_dtype.reset();
  const auto types = [&](const EngineSpec& engine) {
    const CachePlan plan = plan_of(engine, model);
    for (const SpecPlan& spec : plan.specs)
      if (spec.state) return std::pair(spec.state->tensors[0].dtype, spec.state->tensors[1].dtype);
    return std::pair(DType::int8, DType::int8);
  };
  CHECK(types(sglang()) == std::pair(DType::bf16, DType::fp32));
  model.ssm_dtype = DType::bf16;
  CHECK(types(sglang()) == std::pair(DType::bf16, DType::bf16));
  EngineSpec engine = sglang();
  engine.ssm_dtype = DType::fp16;
  engine.conv_dtype = DType::fp32;
  CHECK(types(engine) == std::pair(DType::fp32, DType::fp16));
}

TEST_CASE("edge: no more requests run than the engine is told, or starts with") {
  EngineSpec engine = sglang();
  engine.max_running_requests = 16;
  CHECK(plan_of(engine).max_running_requests == 16);
  engine.own.set(tree_key::attention_data_parallel, 4);
  CHECK(plan_of(engine).max_running_requests == 4);
  CHECK(plan_of(engine).max_running_requests_by_states == 42);
}

TEST_CASE("law: every detail of a plan has the same pools") {
  const LimitsSpec limits{.max_model_lens = {2'048, 32'768}};
  const CachePlan full = make_plan(testing::qwen35_397b(), sglang(), limits);
  const CachePlan numbers =
      make_plan(testing::qwen35_397b(), sglang(), limits, std::nullopt, PlanDetail::numbers);
  CHECK(full.tree_pools == numbers.tree_pools);
  CHECK(full.tree_pools->advice.size() == 2);
  CHECK(full.tree_pools->advice[1].running_best == 43);
  CHECK(full.capacity == numbers.capacity);
}
