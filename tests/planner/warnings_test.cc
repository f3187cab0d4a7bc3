// What is legal but worth knowing.
#include "planner/warnings.h"

#include <doctest/doctest.h>

#include "engines/sglang/rules.h"
#include "engines/vllm/rules.h"
#include "planner/plan.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

EngineSpec qwen_engine(CacheMode mode, std::int64_t pack = 1) {
  return {.tensor_parallel = 2, .cache_mode = mode, .attention_pack_size = pack, .memory_bytes = 40 * gib};
}

/// The message of that code, or nothing.
std::string warned(const CachePlan& plan, const std::string& code) {
  for (const Warning& warning : plan.warnings)
    if (warning.code == code) return warning.message;
  return {};
}

}  // namespace

TEST_CASE("golden: a block of 2096 never hits with prompts of 2096, one of 2097 may") {
  LimitsSpec limits{.max_model_lens = {32'768}, .longest_prompt_tokens = 2096};
  CHECK(
      warned(make_plan(qwen35_397b(), qwen_engine(CacheMode::align), limits), "block_exceeds_prompts") ==
      "prefix caching can never hit: the longest prompt is 2,096 tokens, and a prompt must be longer than 2,096 tokens "
      "to match a whole block; a larger attention_pack_size makes the block smaller");
  limits.longest_prompt_tokens = 2097;
  CHECK(warned(make_plan(qwen35_397b(), qwen_engine(CacheMode::align), limits), "block_exceeds_prompts").empty());
  limits.longest_prompt_tokens = 2096;
  CHECK(warned(make_plan(qwen35_397b(), qwen_engine(CacheMode::align, 5), limits), "block_exceeds_prompts").empty());
  CHECK(warned(make_plan(qwen35_397b(), qwen_engine(CacheMode::none), limits), "block_exceeds_prompts").empty());
}

TEST_CASE("edge: a longest prompt of whole blocks hits nothing when it comes again, in mode align only") {
  LimitsSpec limits{.max_model_lens = {32'768}, .longest_prompt_tokens = 3 * 2096};
  CHECK(warned(make_plan(qwen35_397b(), qwen_engine(CacheMode::align), limits), "knife_edge_length")
            .starts_with("a prompt of 6,288 tokens, the longest, is 3 blocks of 2,096 exactly"));
  CHECK(warned(make_plan(qwen35_397b(), qwen_engine(CacheMode::all), limits), "knife_edge_length").empty());
  limits.longest_prompt_tokens = 3 * 2096 + 1;
  CHECK(warned(make_plan(qwen35_397b(), qwen_engine(CacheMode::align), limits), "knife_edge_length").empty());
}

TEST_CASE("golden: what a prompt of whole blocks hits one token longer, beside a drafter a block less") {
  for (const bool drafted : {false, true}) {
    CAPTURE(drafted);
    EngineSpec engine = qwen_engine(CacheMode::align);
    if (drafted) engine.speculative_tokens = 2, engine.mtp_layers = 1;
    LimitsSpec limits{.max_model_lens = {32'768}};
    const CachePlan plan = make_plan(qwen35_397b(), engine, limits);
    REQUIRE(plan.prefix.duplicate_misses_multiples_of_tokens);
    const std::int64_t block = *plan.prefix.duplicate_misses_multiples_of_tokens;
    const std::int64_t dropped = plan.prefix.duplicate_misses_up_to_tokens / block - 1;
    CHECK(dropped == (drafted ? 1 : 0));
    limits.longest_prompt_tokens = 5 * block;
    const std::string message = warned(make_plan(qwen35_397b(), engine, limits), "knife_edge_length");
    CHECK(message.ends_with(drafted ? "one token longer it hits 4 blocks" : "one token longer it hits 5 blocks"));
  }
}

TEST_CASE("edge: heads that the ranks of SGLang cannot share are told, others are not") {
  const ModelSpec conv = hybrid_model("conv", 12, full_attention(8, 128, 32), ShortConvSpec{1536, 4},
                                      [](std::int64_t i) { return i % 2 == 0; });
  for (const auto& [ranks, shared] : {std::pair{2, true}, std::pair{3, false}}) {
    EngineSpec engine{.tensor_parallel = ranks, .cache_mode = CacheMode::align, .memory_bytes = 40 * gib};
    engine.rules = &rules_of_sglang_0_5_23;
    engine.strategy = Strategy::dual_pool;
    CHECK(warned(make_plan(conv, engine, {.max_model_lens = {32'768}}), "heads_not_shared").empty() == shared);
  }
}

TEST_CASE("edge: a step below the block is told, one of exactly a block is not") {
  EngineSpec engine = qwen_engine(CacheMode::align);
  engine.max_num_batched_tokens = 2095;
  CHECK(warned(make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}}), "budget_below_block")
            .starts_with("a step of 2,095 tokens never reaches the end of a block of 2,096"));
  engine.max_num_batched_tokens = 2096;
  CHECK(warned(make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}}), "budget_below_block").empty());
  engine.max_num_batched_tokens = 2095;
  engine.cache_mode = CacheMode::all;
  CHECK(warned(make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}}), "budget_below_block").empty());
}

TEST_CASE("edge: mode all of a model with gdn layers is planned, and told that engines refuse it") {
  const LimitsSpec limits{.max_model_lens = {32'768}};
  CHECK(warned(make_plan(qwen35_397b(), qwen_engine(CacheMode::all), limits), "mode_refused") ==
        "engines refuse to start models with gdn layers in mode all; take mode align or none");
  for (const CacheMode mode : {CacheMode::none, CacheMode::align})
    CHECK(warned(make_plan(qwen35_397b(), qwen_engine(mode), limits), "mode_refused").empty());
  CHECK(warned(make_plan(granite_h_small(), qwen_engine(CacheMode::all), limits), "mode_refused").empty());
}

TEST_CASE("golden: without a longest prompt the longest sequence counts") {
  const LimitsSpec limits{.max_model_lens = {512, 1024}};
  CHECK(warned(make_plan(qwen35_397b(), qwen_engine(CacheMode::all), limits), "block_exceeds_prompts")
            .find("the longest sequence is 1,024 tokens") != std::string::npos);
}

TEST_CASE("golden: a pool at its exact bound can never finish one request") {
  EngineSpec engine{.cache_mode = CacheMode::align, .speculative_tokens = 3};
  engine.num_blocks = 69;
  CHECK(warned(make_plan(two_layer_model(), engine, {.max_model_lens = {1024}}), "pool_at_bound") ==
        "the pools hold exactly the 69 blocks that one request of 1,024 tokens needs, but block 0 is the null block: "
        "such a request stops at 1,008 tokens and never finishes; give memory for one block more");
  engine.num_blocks = 70;
  CHECK(make_plan(two_layer_model(), engine, {.max_model_lens = {1024}}).warnings.empty());
}

TEST_CASE("golden: a length that does not fit is told beside one that does") {
  EngineSpec engine;
  engine.num_blocks = 11;
  const CachePlan plan = make_plan(two_layer_model(), engine, {.max_model_lens = {16, 1024}});
  CHECK(warned(plan, "length_does_not_fit") ==
        "one request of 1,024 tokens needs 65 blocks, the pools have 11; the longest that fits is 144 tokens");
  CHECK(plan.warnings.size() == 1);
}

TEST_CASE("golden: a short last pack says what it wastes") {
  const CachePlan plan = make_plan(qwen35_397b(), qwen_engine(CacheMode::align, 4), {.max_model_lens = {32'768}});
  CHECK(
      warned(plan, "short_pack") ==
      "the last pack of the 15 full_attention layers holds 3 of 4: every block wastes 540,672 bytes for the missing 1");
  CHECK(make_plan(qwen35_397b(), qwen_engine(CacheMode::align, 5), {.max_model_lens = {32'768}}).warnings.empty());
}

TEST_CASE("golden: packs that another beats carry a warning") {
  const std::int64_t packs[] = {1, 2, 3, 4, 5, 8, 15};
  const PlanSet set = make_plans(qwen35_397b(), qwen_engine(CacheMode::align), {.max_model_lens = {32'768}}, packs);
  std::vector<std::int64_t> beaten;
  for (const CachePlan& plan : set.plans)
    if (!warned(plan, "dominated_pack").empty()) beaten.push_back(plan.attention_pack_size);
  CHECK(beaten == std::vector<std::int64_t>{1, 2, 4, 5, 8});
}

namespace {

EngineSpec warned_engine(BackendProfile profile) {
  EngineSpec engine = qwen_engine(CacheMode::align);
  engine.rules = &rules_of_vllm_0_33;
  engine.backend_profile = profile;
  return engine;
}

}  // namespace

TEST_CASE("golden: views that the engine refuses after planning are told, and the plan has none") {
  EngineSpec engine = warned_engine(BackendProfile::sm100_flashinfer);  // kernel blocks of 64 in blocks of 2,112
  engine.cache_order = CacheOrder::blhnc;
  const CachePlan plan = make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}});
  CHECK(plan.views.empty());
  CHECK(warned(plan, "views_refused")
            .starts_with("vLLM 0.33.0 plans this and then refuses to make its views: engine.physical_order: BLHNC does "
                         "not"));
  engine.cache_order = CacheOrder::lbhnc;
  CHECK(warned(make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}}), "views_refused").empty());
}

TEST_CASE("golden: a match unit that divides no block is told") {
  EngineSpec engine = warned_engine(BackendProfile::sm90);
  engine.prefix_match_unit_tokens = 100;
  CHECK(warned(make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}}), "match_unit_refused") ==
        "vLLM 0.33.0 plans this and then refuses its match unit: engine.prefix_match_unit_tokens: 100 does not divide "
        "the block of 2112 tokens of a group whose prefixes are cached; take a divisor of 2112");
  engine.prefix_match_unit_tokens = 64;
  CHECK(warned(make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}}), "match_unit_refused").empty());
}

TEST_CASE("edge: vLLM 0.33 takes steps below a block, and shortens hits by the match unit, not by packs") {
  EngineSpec engine = warned_engine(BackendProfile::sm90);
  engine.max_num_batched_tokens = 400;
  const CachePlan plan = make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}, .longest_prompt_tokens = 2000});
  CHECK(warned(plan, "budget_below_block").empty());
  CHECK(warned(plan, "block_exceeds_prompts")
            .ends_with("an engine.prefix_match_unit_tokens that divides the block makes hits shorter"));
}

TEST_CASE("edge: memory for a request without its null block is refused, with the memory that works") {
  EngineSpec engine = warned_engine(BackendProfile::sm90);
  const std::int64_t block = std::int64_t(15) * 2'162'688;
  engine.memory_bytes = 25 * block;  // a request of 32,768 tokens takes 25 ids
  CHECK_THROWS_WITH_AS(make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}}),
                       doctest::Contains("with the null block the smallest that works is"), SpecError);
  engine.memory_bytes = 26 * block;
  CHECK(make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}}).capacity.front().fits);
}
