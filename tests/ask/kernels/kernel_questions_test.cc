// What the questions that plan say of kernels: plan --kernels, recommend, boot and compare have one judge.
#include <doctest/doctest.h>

#include <algorithm>

#include "ask/compare/compare.h"
#include "ask/kernels/kernel_fit.h"
#include "ask/plan.h"
#include "ask/recommend.h"
#include "ask/recommend_engines.h"
#include "ask/start/boot.h"
#include "test_paths.h"
#include "tests/ask/asked.h"
#include "tests/ask/engine_recommendations.h"
#include "tests/kernel_cards.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// The cards that come along for vLLM, and one of every bad kind.
std::vector<KernelCard> many_cards() {
  KernelCard refusing = attention_card(), stale = attention_card(), narrow = attention_card();
  refusing.views.front().refuses = {"block"};
  stale.stale_safe = false;
  narrow.views.back().narrow = {"block"};
  const std::string cards = HYBRIDKV_SOURCE_DIR "/python/hybridkv/testing/cards/";
  return {one_layer_card(), refusing, stale, narrow, read_kernel_card(cards + "vllm.unified_attention.card.json"),
          read_kernel_card(cards + "vllm.recurrent_gated_delta_rule.card.json")};
}

/// What `plan --kernels` says.
std::vector<KernelFit> planned_fits(const Scenario& scenario, const std::vector<KernelCard>& cards) {
  CachePlan plan = plan_pack(scenario, 0);
  judge_kernels(cards, plan);
  return plan.kernels;
}

RecommendQuestion question_of(const std::vector<KernelCard>& cards) {
  RecommendQuestion question;
  question.space.packs = {1, 2, 3};
  question.space.modes = {CacheMode::align};
  question.space.block_floors = {std::nullopt};
  question.kernels = cards;
  return question;
}

Scenario asked_scenario(const char* engine = "") {
  return small_scenario(engine, "simulate: {trace: {max_requests: 50}}\n");
}

/// Elements between blocks of the first layer of attention.
std::int64_t stride_of_k(const CachePlan& plan) {
  const auto view = std::find_if(plan.views.begin(), plan.views.end(), [&](const ViewPlan& one) {
    return plan.specs[static_cast<std::size_t>(one.spec)].attention.has_value();
  });
  return view->bytes.stride("block") / element_bytes(view->dtype);
}

std::int64_t picked_pack(const RecommendAnswer& answer) { return answer.result.layout_of(answer.result.pick).pack(); }

}  // namespace

TEST_CASE("law: what plan --kernels says of a plan is what recommend says of the same settings") {
  const std::vector<KernelCard> cards = many_cards();
  for (const char* engine : {"", "  release: vllm-0.33\n", "  release: sglang-0.5.23\n", "  release: llama.cpp\n",
                             "  release: tensorrt-llm\n  max_batch_size: 16\n"}) {
    CAPTURE(engine);
    const Scenario scenario = asked_scenario(engine);
    RecommendQuestion question = question_of(cards);
    if (*engine != '\0') question.space = {};
    const RecommendAnswer answer = recommend_scenario(scenario, question);
    CHECK(!answer.result.candidates.empty());
    for (std::size_t i = 0; i < answer.result.candidates.size(); ++i) {
      CAPTURE(i);
      const std::vector<KernelFit>& fits = answer.result.layout_of(i).plan.kernels;
      REQUIRE(fits.size() == cards.size());
      REQUIRE(fits == planned_fits(scenario_of(scenario, answer, i), cards));
      REQUIRE(answer.result.candidates[i].harms_kernel == harms_kernel(fits));
    }
  }
}

TEST_CASE("law: what plan --kernels says of a plan is what boot and compare say of the same settings") {
  const std::vector<KernelCard> cards = many_cards();
  std::vector<ScenarioFile> files;
  for (const char* engine : {"", "  attention_pack_size: 3\n", "  release: vllm-0.33\n"}) {
    CAPTURE(engine);
    files.push_back(small_file(engine));
    BootQuestion question{.file = files.back()};
    question.kernels = cards;
    const std::vector<KernelFit> fits = planned_fits(read_scenario(files.back()), cards);
    CHECK(boot(question).kernels() == fits);
    question.kernels.clear();
    CHECK(boot(question).kernels().empty());
  }
  const std::vector<CompareSetting> settings = compare_settings(files);
  const CompareAnswer answer = compare(settings, {}, cards);
  for (std::size_t i = 0; i < settings.size(); ++i)
    CHECK(answer.settings[i].kernels == planned_fits(settings[i].scenario, cards));
  CHECK(compare(settings).settings.front().kernels.empty());
}

TEST_CASE("law: a card with a derived stride flips the pick, and nothing else of the search") {
  Scenario scenario = read_scenario(load_scenario("qwen3.5-397b"));
  scenario.simulate.trace.max_requests = 60;
  for (const SearchKind kind : {SearchKind::exhaustive, SearchKind::refined, SearchKind::pruned}) {
    CAPTURE(to_string(kind));
    RecommendQuestion question = question_of({});
    question.search = kind;
    const RecommendAnswer plain = recommend_scenario(scenario, question);
    question.kernels = {one_layer_card()};
    const RecommendAnswer judged = recommend_scenario(scenario, question);
    REQUIRE(picked_pack(plain) == 3);
    CHECK(picked_pack(judged) == 1);
    CHECK_FALSE(judged.picked().harms_kernel);
    REQUIRE(judged.result.heedless_pick.has_value());
    // What is passed over is what is picked without the card, weighed alike.
    const Candidate& passed = judged.result.candidates[*judged.result.heedless_pick];
    CHECK(passed.passed_over);
    CHECK(passed.objectives == plain.picked().objectives);
    CHECK(passed.refinement() == plain.picked().refinement());
    CHECK(judged.result.layout_of(passed).pack() == 3);
    for (const std::size_t at : judged.result.front) CHECK_FALSE(judged.result.candidates[at].harms_kernel);
    // Only packs hold more requests than the pick, so that a demand for more leaves no other.
    for (const WhatIf& what_if : judged.result.what_ifs)
      if (what_if.pick)
        CHECK(judged.result.candidates[*what_if.pick].harms_kernel == (what_if.assumption == Assumption::concurrency));
  }
}

TEST_CASE("law: a layout that alone harms no kernel is picked by every kind of search, however it is beaten") {
  Scenario scenario = read_scenario(load_scenario("qwen3.5-397b"));
  scenario.simulate.trace.max_requests = 60;
  scenario.pack_sizes = {1};
  scenario.engine.block_size_tokens = 4096;
  const CachePlan large = plan_pack(scenario, 0);
  KernelCard card = attention_card();
  card.views.front().derives = {{"block", StrideRule::extents, {}, stride_of_k(large), ""}};
  scenario.engine.block_size_tokens.reset();
  for (const SearchKind kind : {SearchKind::exhaustive, SearchKind::refined, SearchKind::pruned}) {
    CAPTURE(to_string(kind));
    RecommendQuestion question = question_of({card});
    question.space.block_floors = {std::nullopt, 4096};
    question.search = kind;
    const RecommendAnswer answer = recommend_scenario(scenario, question);
    CHECK(answer.result.layout_of(answer.result.pick).block_floor() == 4096);
    CHECK_FALSE(answer.picked().harms_kernel);
  }
}

TEST_CASE("law: where every layout harms a kernel the pick is what it is without kernels") {
  KernelCard card = attention_card();
  card.views.front().derives = {{"block", StrideRule::extents, {}, 7, ""}};
  const Scenario scenario = asked_scenario();
  const RecommendAnswer plain = recommend_scenario(scenario, question_of({}));
  const RecommendAnswer judged = recommend_scenario(scenario, question_of({card}));
  CHECK(judged.result.pick == plain.result.pick);
  CHECK(judged.result.front == plain.result.front);
  CHECK_FALSE(judged.result.heedless_pick.has_value());
  CHECK(corrupts_kernel(judged.pick_kernels()));
  for (const Candidate& candidate : judged.result.candidates) {
    CHECK(candidate.harms_kernel);
    CHECK_FALSE(candidate.passed_over);
  }
}

TEST_CASE("law: a card that fits every layout changes nothing of a search") {
  const Scenario scenario = asked_scenario();
  const RecommendAnswer plain = recommend_scenario(scenario, question_of({}));
  const RecommendAnswer judged = recommend_scenario(scenario, question_of({attention_card()}));
  CHECK(judged.result.candidates == plain.result.candidates);
  CHECK(judged.result.pick == plain.result.pick);
  CHECK(judged.result.unpacked_pick == plain.result.unpacked_pick);
  CHECK_FALSE(judged.result.heedless_pick.has_value());
}

TEST_CASE("rule: of several engines one whose pick harms a kernel is taken where no other answers") {
  const auto with_verdict = [](EngineRecommendation engine, KernelVerdict verdict) {
    engine.answer->result.layouts[engine.answer->picked().layout].plan.kernels = {{"k", verdict, {}}};
    return engine;
  };
  const EngineRecommendation best = with_results(recommended("vllm-0.33"), 1000, 7);
  const EngineRecommendation other = with_results(recommended("sglang-0.5.23"), 9e8, 3);
  CHECK(engine_to_take(std::vector{best, other}) == 0);
  CHECK(engine_to_take(std::vector{with_verdict(best, KernelVerdict::stale), other}) == 0);
  CHECK(engine_to_take(std::vector{with_verdict(best, KernelVerdict::refuses), other}) == 1);
  const std::vector harmed{with_verdict(best, KernelVerdict::corrupts), other};
  CHECK(engine_to_take(harmed) == 1);
  CHECK(next_engine(harmed, 1) == std::nullopt);
  CHECK(next_engine(std::vector{best, other}, 1) == 0);
  CHECK(engine_to_take(std::vector{with_verdict(best, KernelVerdict::corrupts),
                                   with_verdict(other, KernelVerdict::refuses)}) == 0);
}

TEST_CASE("rule: a command to try corrupts no kernel, unless what was asked does") {
  BootQuestion question{.file = small_file("  tensor_parallel: 1\n  release: vllm-0.33\n")};
  question.max_num_seqs = 4;
  const std::int64_t longest = boot(question).plan->max_fitting_tokens;
  apply_override(question.file, "limits.max_model_len=" + std::to_string(longest * 3 / 2));
  const BootAnswer plain = boot(question);
  REQUIRE_FALSE(plain.boots());
  const auto narrow = [](const BootTry& one) { return one.what == "K and V in fp8"; };
  REQUIRE(std::any_of(plain.tries.begin(), plain.tries.end(), narrow));
  // Right for elements of two bytes alone: blocks of as many bytes have twice as many of one.
  KernelCard card = attention_card();
  const CachePlan plan = plan_pack(read_scenario(small_file("  release: vllm-0.33\n")), 0);
  card.views.front().derives = {{"block", StrideRule::extents, {}, stride_of_k(plan), ""}};
  question.kernels = {card};
  const BootAnswer judged = boot(question);
  CHECK_FALSE(corrupts_kernel(judged.kernels()));
  CHECK(std::none_of(judged.tries.begin(), judged.tries.end(), narrow));
  question.kernels.front().views.front().derives.front().factor = 7;  // wrong of what was asked too
  CHECK(boot(question).tries.size() == plain.tries.size());
}
