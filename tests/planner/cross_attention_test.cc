// Attention to an encoder: CrossAttentionSpec and CrossAttentionManager of vLLM 0.33, read.
#include <doctest/doctest.h>

#include "engines/llama_cpp/rules.h"
#include "engines/sglang/rules.h"
#include "engines/tensorrt_llm/rules.h"
#include "engines/vllm/rules.h"
#include "planner/encoder_tokens.h"
#include "planner/evidence.h"
#include "planner/plan.h"
#include "planner/start_count.h"
#include "planner/table_formula.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using testing::gib;

namespace {

EngineSpec encoder_engine(const EngineRules& rules = rules_of_vllm_0_33) {
  return {.rules = &rules, .strategy = rules.strategy, .memory_bytes = 10 * gib};
}

CachePlan whisper_plan(const EngineSpec& engine, std::int64_t tokens = 448) {
  return make_plan(testing::whisper_large(), engine, {.max_model_lens = {tokens}});
}

/// The error that the plan is refused with, by path and words.
void require_refusal(const EngineSpec& engine, const char* path, const char* words,
                     const ModelSpec& model = testing::whisper_large()) {
  CAPTURE(path);
  try {
    make_plan(model, engine, {.max_model_lens = {448}});
    FAIL("planned");
  } catch (const SpecError& error) {
    CHECK(error.path() == path);
    CHECK(std::string(error.what()).find(words) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("golden: Whisper large keeps ceil(1500 / 16) blocks of its encoder beside ceil(448 / 16) of its tokens") {
  const CachePlan plan = whisper_plan(encoder_engine());
  REQUIRE(plan.specs.size() == 2);
  CHECK(plan.specs[0].kind == "full_attention");
  CHECK(plan.specs[1].kind == "cross_attention");
  CHECK(plan.specs[1].encoder_tokens == 1500);
  CHECK(plan.specs[1].role() == SpecRole::encoder);
  CHECK(plan.specs[0].bytes_per_token == 20 * 128 * 2);
  CHECK(plan.specs[1].bytes_per_token == plan.specs[0].bytes_per_token);
  REQUIRE(plan.groups.size() == 2);
  CHECK(plan.groups[1].layers().size() == 32);
  CHECK(plan.arenas.front().bytes_per_id == 32 * 16 * 5120);
  const CapacityPlan& capacity = plan.capacity.front();
  CHECK(capacity.blocks_per_request == 28 + 94);
  CHECK(capacity.ids_by_cause == IdsByCause{.tokens = 28, .encoder = 94});
  CHECK(capacity.ideal_bytes_per_request == 32 * 5120 * (448 + 1500));
  CHECK(plan.max_fitting_tokens == (plan.usable_blocks() - 94) * 16);
  CHECK(plan.max_running_requests == plan.usable_blocks() / 95);
  CHECK(!plan.prefix.cacheable);
  CHECK(evidence_of(plan) == Evidence::source_only);
}

TEST_CASE("golden: windows, full attention and twice as many layers of cross attention make four groups") {
  ModelSpec model{.name = "t5gemma", .encoder_tokens = 4096};
  AttentionSpec cross = testing::full_attention(4, 256, 8);
  cross.kind = AttentionKind::cross;
  for (std::int64_t i = 0; i < 26; ++i) {
    LayerSpec layer;
    layer.attention = i % 2 == 0 ? testing::sliding_attention(4, 256, 4096) : testing::full_attention(4, 256);
    layer.cross = cross;
    model.layers.push_back(layer);
  }
  const CachePlan plan = make_plan(model, encoder_engine(), {.max_model_lens = {8192}});
  REQUIRE(plan.specs.size() == 3);
  REQUIRE(plan.groups.size() == 4);
  for (const GroupPlan& group : plan.groups) CHECK(group.layers().size() == 13);
  CHECK(plan.capacity.front().ids_by_cause.encoder == 2 * 256);
}

TEST_CASE("law: the encoder's blocks are the same at every length, and the longest request has room for them") {
  for (const EngineRules* rules : {&rules_of_vllm_0_33, &rules_of_vllm_2026_06})
    for (const std::int64_t encoder : {1, 15, 16, 17, 1500}) {
      EngineSpec engine = encoder_engine(*rules);
      engine.encoder_tokens = encoder;
      const CachePlan plan = whisper_plan(engine);
      for (const std::int64_t tokens : {1, 16, 400, 448})
        CHECK(ids_by_cause(plan, tokens).encoder == (encoder + 15) / 16);
      CHECK(fits(plan, request_demand(plan, plan.max_fitting_tokens)));
      CHECK(!fits(plan, request_demand(plan, plan.max_fitting_tokens + 1)));
      const TableRule rule = table_rule(plan, plan.specs[1]);
      CHECK(table_formula(rule, 448).text() ==
            "ids = ceil(E / block): K and V of the encoder's tokens, whatever the length");
      CHECK(longest_in_entries(rule, (encoder + 15) / 16) == largest_tokens);
      CHECK(longest_in_entries(rule, (encoder + 15) / 16 - 1) == 0);
    }
}

TEST_CASE("edge: prefix caching is off beside an encoder, whatever mode is asked for") {
  EngineSpec engine = encoder_engine();
  const CachePlan none = whisper_plan(engine);
  engine.cache_mode = CacheMode::align;
  CHECK(whisper_plan(engine) == none);
}

TEST_CASE("edge: the engine's own check takes a whole step of encoder tokens, which is told") {
  const auto told = [](const CachePlan& plan) {
    std::string text;
    for (const Warning& warning : plan.warnings)
      if (warning.code == "encoder_reserve") text += warning.message;
    return text;
  };
  EngineSpec engine = encoder_engine();
  const std::string text = told(whisper_plan(engine));
  CHECK(text.find("max_num_batched_tokens = 8,192") != std::string::npos);
  CHECK(text.find("540 instead of 122 blocks") != std::string::npos);  // 28 + 8192 / 16
  engine.max_num_batched_tokens = 1500;
  CHECK(told(whisper_plan(engine)).empty());
  engine = encoder_engine();
  engine.num_blocks = 200;
  CHECK(told(whisper_plan(engine)).find("does not start") != std::string::npos);
}

TEST_CASE("edge: what keeps no K and V of an encoder, or is not planned with one, is refused with the reason") {
  require_refusal(encoder_engine(rules_of_sglang_0_5_23), "engine.release", "take vllm-2026-06");
  require_refusal(encoder_engine(rules_of_llama_cpp), "engine.release", "take vllm-2026-06");
  require_refusal(encoder_engine(rules_of_tensorrt_llm), "engine.release", "take vllm-2026-06");
  EngineSpec engine = encoder_engine();
  engine.max_num_batched_tokens = 256;
  require_refusal(engine, "engine.max_num_batched_tokens", "prompts are computed whole");
  engine = encoder_engine();
  engine.encoder_tokens = 1501;
  require_refusal(engine, "engine.encoder_tokens", "take at most 1500");
  engine = encoder_engine();
  engine.hybrid_manager = false;
  require_refusal(engine, "engine.hybrid_manager", "leave it out");
  engine = encoder_engine();
  engine.strategy = Strategy::dual_pool;
  require_refusal(engine, "engine.strategy", "take packed_attention");
  engine = encoder_engine(rules_of_vllm_2026_06);
  engine.attention_pack_size = 2;
  require_refusal(engine, "engine.attention_pack_size", "take 1");
  ModelSpec unknown = testing::whisper_large();
  unknown.encoder_tokens.reset();
  require_refusal(encoder_engine(), "engine.encoder_tokens", "is missing", unknown);
  engine = encoder_engine();
  engine.encoder_tokens = 100;
  require_refusal(engine, "engine.encoder_tokens", "no layer attends to an encoder", testing::qwen35_397b());
  ModelSpec wrong = testing::whisper_large();
  wrong.layers.front().cross = testing::full_attention(20, 64);
  require_refusal(encoder_engine(), "model.layers[0].cross", "cross_attention", wrong);
  wrong = testing::whisper_large();
  wrong.layers.front().attention = wrong.layers.front().cross;
  require_refusal(encoder_engine(), "model.layers[0].attention", "attention to an encoder", wrong);
}

TEST_CASE("golden: at its start the engine counts a whole step for the encoder, as its own code does") {
  EngineSpec engine = encoder_engine();
  engine.max_num_batched_tokens = 8192;
  const CachePlan plan = whisper_plan(engine);
  const std::optional<StartCount> count = start_count(plan, plan.capacity.front());
  REQUIRE(count.has_value());
  CHECK(count->encoder_tokens == 1500);
  CHECK(count->ids == 28 + 512);
  CHECK(count->concurrency == doctest::Approx(static_cast<double>(plan.num_blocks()) / 540));
  CHECK(count->tokens == static_cast<std::int64_t>(count->concurrency * 448));
  engine.max_num_batched_tokens = 1500;
  const CachePlan whole_step = whisper_plan(engine);
  CHECK_FALSE(start_count(whole_step, whole_step.capacity.front()).has_value());
}
