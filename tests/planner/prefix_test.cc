// How finely a prefix is found again: vLLM HybridKVCacheCoordinator.
#include "planner/prefix.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engines/jenga/rules.h"
#include "engines/vllm/rules_0_33.h"
#include "engines/vllm_0_32/rules.h"
#include "planner/plan.h"
#include "tests/planner/models.h"
#include "tests/planner/random_specs.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

std::int64_t align_hit(std::int64_t block, std::int64_t prompt, bool drops = false) {
  return duplicate_hit_tokens(CacheMode::align, true, block, drops, prompt);
}

PrefixPlan prefix_of(const ModelSpec& model, EngineSpec engine) {
  engine.memory_bytes = 80 * gib;
  return make_plan(model, engine, {.max_model_lens = {4096}}).prefix;
}

ModelSpec attention_only() {
  ModelSpec model;
  model.layers = {{full_attention(2, 64), std::nullopt}};
  return model;
}

}  // namespace

TEST_CASE("golden: second copies in mode align hit what was published") {
  CHECK(fmt::format("{:.1f}", 100.0 * static_cast<double>(align_hit(528, 552)) / 552) == "95.7");
  CHECK(fmt::format("{:.1f}", 100.0 * static_cast<double>(align_hit(528, 979)) / 979) == "53.9");
  CHECK(align_hit(1024, 1024) == 0);
  CHECK(fmt::format("{:.3f}", static_cast<double>(align_hit(1024, 1025)) / 1025) == "0.999");
  CHECK(fmt::format("{:.3f}", static_cast<double>(align_hit(1024, 2047)) / 2047) == "0.500");
  for (std::int64_t prompt = 1; prompt < 4096; ++prompt) CHECK(align_hit(8320, prompt) == 0);
}

TEST_CASE("golden: hits of a duplicate by mode, with and without a drafter") {
  struct Case {
    CacheMode mode;
    bool recurrent, drops;
    std::int64_t prompt, hit;
  };
  const Case cases[] = {
      {CacheMode::none, true, false, 1000, 0},   {CacheMode::none, false, false, 1000, 992},
      {CacheMode::none, false, true, 1000, 976}, {CacheMode::all, true, false, 1000, 992},
      {CacheMode::all, true, false, 992, 976},   {CacheMode::all, true, true, 1000, 976},
      {CacheMode::align, true, false, 992, 0},   {CacheMode::align, true, true, 992, 0},
      {CacheMode::align, true, true, 1000, 976}, {CacheMode::align, true, true, 17, 0},
      {CacheMode::align, false, false, 992, 976},
  };
  for (const Case& one : cases) {
    CAPTURE(to_string(one.mode));
    CAPTURE(one.prompt);
    CHECK(duplicate_hit_tokens(one.mode, one.recurrent, 16, one.drops, one.prompt) == one.hit);
  }
}

TEST_CASE("golden: only MTP layers and draft models drop a block, and only when they speculate") {
  EngineSpec engine;
  CHECK(!drafter_drops_block(engine));
  engine.speculative_tokens = 3;  // n-gram
  CHECK(!drafter_drops_block(engine));
  engine.mtp_layers = 1;
  CHECK(drafter_drops_block(engine));
  engine.speculative_tokens = 0;
  CHECK(!drafter_drops_block(engine));
  engine.mtp_layers = 0;
  engine.speculative_tokens = 1;
  engine.draft = DraftSpec{1, sliding_attention(1, 8, 16)};
  CHECK(drafter_drops_block(engine));
}

TEST_CASE("golden: granularity of Qwen3.5-397B at TP2") {
  const PrefixPlan align = prefix_of(qwen35_397b(), {.tensor_parallel = 2, .cache_mode = CacheMode::align});
  CHECK(align.cacheable);
  CHECK(align.match_unit_tokens == 2096);
  CHECK(align.min_cacheable_prefix_tokens == 2096);
  CHECK(align.duplicate_misses_up_to_tokens == 2096);
  CHECK(align.duplicate_misses_multiples_of_tokens == 2096);

  const PrefixPlan packed =
      prefix_of(qwen35_397b(), {.tensor_parallel = 2, .cache_mode = CacheMode::align, .attention_pack_size = 15});
  CHECK(packed.min_cacheable_prefix_tokens == 144);

  EngineSpec mtp{.tensor_parallel = 2, .cache_mode = CacheMode::all, .speculative_tokens = 1};
  mtp.mtp_layers = 1;
  const PrefixPlan drafted = prefix_of(qwen35_397b(), mtp);
  CHECK(drafted.min_cacheable_prefix_tokens == 2 * drafted.match_unit_tokens);
  CHECK(!drafted.duplicate_misses_multiples_of_tokens);

  const PrefixPlan none = prefix_of(qwen35_397b(), {.tensor_parallel = 2});
  CHECK(!none.cacheable);
  CHECK(!none.min_cacheable_prefix_tokens);
  CHECK(none.match_unit_tokens == 2096);  // that of attention; with the state's whole sequence it would be 4,292,608
}

TEST_CASE("golden: what a drafter reads, or drops, lies behind every prefix that is found") {
  const auto drafted = [](const EngineRules& rules, std::int64_t modules, const ModelSpec& model) {
    EngineSpec engine{.rules = &rules, .strategy = rules.strategy, .cache_mode = CacheMode::align};
    engine.speculative_tokens = 5;
    engine.mtp_layers = modules;
    return prefix_of(model, engine);
  };
  // Keys cover one more token, or as many as there are modules' drafts.
  const ModelSpec hybrid = hybrid_model("hybrid", 4, full_attention(2, 64), qwen_gdn(4, 4),
                                        [](std::int64_t layer) { return layer % 2 == 1; });
  const PrefixPlan one = drafted(rules_of_vllm_0_33, 1, hybrid), several = drafted(rules_of_vllm_0_33, 3, hybrid);
  CHECK(*one.min_cacheable_prefix_tokens == one.match_unit_tokens + 1);
  CHECK(one.duplicate_misses_up_to_tokens == one.match_unit_tokens);
  CHECK(*several.min_cacheable_prefix_tokens == several.match_unit_tokens + 5);
  CHECK(several.duplicate_misses_up_to_tokens == several.match_unit_tokens + 4);
  // A unit is dropped, of a whole prompt where several tables are searched.
  const PrefixPlan dropped = drafted(rules_of_vllm_0_32, 1, hybrid);
  const PrefixPlan alone = drafted(rules_of_vllm_0_32, 1, attention_only());
  CHECK(dropped.duplicate_misses_up_to_tokens == 2 * dropped.match_unit_tokens - 1);
  CHECK(alone.duplicate_misses_up_to_tokens == 2 * alone.match_unit_tokens);
  // Of Jenga's blocks one of attention is dropped, which is shorter than that of a state.
  const PrefixPlan jenga = drafted(rules_of_jenga, 1, hybrid);
  CHECK(jenga.match_unit_tokens == 512);
  CHECK(*jenga.min_cacheable_prefix_tokens == 512 + 16);
  CHECK(jenga.duplicate_misses_up_to_tokens == 512 + 16);
}

TEST_CASE("regression: states alone have no match unit in mode none, and their block in the others") {
  const ModelSpec states = hybrid_model("states", 2, full_attention(1, 8), qwen_gdn(1, 1), [](auto) { return false; });
  CHECK(prefix_of(states, {}).match_unit_tokens == 0);
  CHECK(prefix_of(states, {.cache_mode = CacheMode::align}).match_unit_tokens == 16);
}

TEST_CASE("edge: attention alone is found again in every mode") {
  for (CacheMode mode : {CacheMode::none, CacheMode::align, CacheMode::all}) {
    const PrefixPlan prefix = prefix_of(attention_only(), {.cache_mode = mode});
    CHECK(prefix.cacheable);
    CHECK(prefix.min_cacheable_prefix_tokens == 16);
    CHECK(!prefix.duplicate_misses_multiples_of_tokens);
  }
}

TEST_CASE("law: the plan says of every prompt whether its duplicate misses") {
  CHECK(check_plans("duplicates", 3'000, SpecSize::tiny, [](const RandomSpecs& specs, const CachePlan& plan) {
    const bool recurrent = std::any_of(plan.specs.begin(), plan.specs.end(),
                                       [](const SpecPlan& spec) { return spec.state.has_value(); });
    const std::int64_t unit = plan.prefix.match_unit_tokens;
    if (!plan.prefix.cacheable) return;
    for (std::int64_t prompt = 1; prompt <= 4 * unit + 1; ++prompt) {
      const std::int64_t hit =
          duplicate_hit_tokens(plan.cache_mode, recurrent, unit, drafter_drops_block(specs.engine), prompt);
      const auto multiple = plan.prefix.duplicate_misses_multiples_of_tokens;
      const bool misses =
          prompt <= plan.prefix.duplicate_misses_up_to_tokens || (multiple && prompt % *multiple == 0);
      RC_ASSERT((hit == 0) == misses);
      RC_ASSERT(hit % unit == 0);
      RC_ASSERT(hit < prompt);
    }
  }));
}
