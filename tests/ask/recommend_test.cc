#include "ask/recommend.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.h"
#include "simulator/blocks/closed_form.h"
#include "test_paths.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

RecommendQuestion small_question() {
  RecommendQuestion question;
  question.space.packs = {1, 2, 3};
  question.space.modes = {CacheMode::align};
  question.space.block_floors = {std::nullopt};
  return question;
}

}  // namespace

TEST_CASE("law: packs side by side differ in nothing else, and are beaten by the cheapest that beats them") {
  const Scenario scenario = small_scenario("", "simulate: {trace: {max_requests: 50}}\n");
  RecommendQuestion question = small_question();
  question.space.packs = {3, 1, 2};  // they are shown from the smallest on, however they were typed
  const RecommendAnswer answer = recommend_scenario(scenario, question);
  const auto& candidates = answer.result.candidates;
  CHECK(answer.workload.find("seed 1") != std::string::npos);
  REQUIRE(answer.plain_packs.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const PlainPack& one = answer.plain_packs[i];
    const Candidate& candidate = candidates[one.candidate];
    CHECK(answer.result.layout_of(candidate).pack() == static_cast<std::int64_t>(i) + 1);
    CHECK_FALSE(candidate.match_unit_tokens.has_value());
    CHECK_FALSE(candidate.retention_tokens.has_value());
    std::optional<std::int64_t> fewest;
    for (const PlainPack& other : answer.plain_packs)
      if (const Objectives& better = candidates[other.candidate].objectives; dominates(better, candidate.objectives))
        fewest = std::min(fewest.value_or(better.bytes_per_request), better.bytes_per_request);
    CHECK(one.beaten_by.has_value() == fewest.has_value());
    if (fewest) CHECK(candidates[*one.beaten_by].objectives.bytes_per_request == *fewest);
  }
}

TEST_CASE("law: what the question leaves open is the scenario's") {
  const Scenario scenario = small_scenario("", "simulate: {trace: {max_requests: 50}, driver: closed-loop}\n");
  RecommendQuestion question = small_question();
  const RecommendAnswer plain = recommend_scenario(scenario, question);
  CHECK(plain.result.at_length == 4096);
  CHECK(plain.driver == scenario.simulate.driver);
  CHECK(plain.rule.most_given_up == doctest::Approx(0.05));
  CHECK(plain.trace.max_requests == 50);
  question.at_length = 1024;
  question.give_up_percent = 10;
  question.workload = "this trace";
  const RecommendAnswer other = recommend_scenario(scenario, question);
  CHECK(other.result.at_length == 1024);
  CHECK(other.rule.most_given_up == doctest::Approx(0.1));
  CHECK(other.workload == "this trace");
}

TEST_CASE("fault: what the simulator refuses has the scenario's name and place") {
  const Scenario scenario = small_scenario("", "simulate: {trace: {max_requests: 50}, watermark: 2}\n");
  try {
    recommend_scenario(scenario, small_question());
    FAIL("not refused");
  } catch (const InputError& error) {
    CAPTURE(error.what());
    CHECK(std::string(error.what()).find("simulate.watermark") != std::string::npos);
    CHECK(std::string(error.what()).starts_with("small.yaml:8:"));
  }
}

TEST_CASE("law: where the tokens of the pick went is known of a trace's file, and adds up with its hits") {
  const Scenario scenario = small_scenario(
      "", "simulate: {trace: {file: '" HYBRIDKV_SOURCE_DIR "/docs/samples/trace.jsonl'}}\n");
  const RecommendAnswer answer = recommend_scenario(scenario, small_question());
  REQUIRE(answer.pick_losses.has_value());
  const ReuseLoss& total = answer.pick_losses->total;
  CHECK(total.found_tokens == answer.result.candidates[answer.result.pick].hit_tokens);
  CHECK(total.token_exact_tokens == answer.result.workload.repeated_tokens);
  CHECK(total.total() > 0);
  const Scenario made_up = small_scenario("", "simulate: {trace: {max_requests: 50}}\n");
  CHECK(!recommend_scenario(made_up, small_question()).pick_losses.has_value());
}

TEST_CASE("law: under 0.33 packs are searched by its rules as pages of one layer are, and each retention once") {
  const Scenario scenario = small_scenario("  release: vllm-0.33\n", "simulate: {trace: {max_requests: 50}}\n");
  RecommendQuestion question = small_question();
  question.space.packs = {1, 3};
  const RecommendAnswer answer = recommend_scenario(scenario, question);
  const SearchSpace& space = answer.result.space;
  CHECK(space.retentions == std::vector<std::optional<std::int64_t>>{0});
  CHECK(space.retention_blocks == std::vector<std::int64_t>{1, 4});
  for (const Candidate& candidate : answer.result.candidates) {
    // What no flag of the release says is no candidate: each has an interval.
    CHECK(candidate.retention_tokens.has_value() == answer.result.layout_of(candidate).geometry().caches_prefixes());
    const PlannedLayout& layout = answer.result.layout_of(candidate);
    CHECK(layout.geometry().rules.checkpoint_blocks == 1);
    CHECK(layout.geometry().retention_interval_tokens == 0);
    CHECK(longest_request(layout.geometry()) == layout.plan.max_fitting_tokens);
    CHECK(evidence_of(layout.plan) == (layout.pack() > 1 ? Evidence::builder : Evidence::run));
    CHECK(std::ranges::count_if(answer.result.candidates, [&](const Candidate& other) {
            return other.layout == candidate.layout && other.match_unit_tokens == candidate.match_unit_tokens &&
                   other.retention_tokens == candidate.retention_tokens;
          }) == 1);
  }
  // Nothing else changed: the retention of the default is 0.33's own.
  REQUIRE(answer.plain_packs.size() == 2);
  for (const PlainPack& one : answer.plain_packs)
    CHECK(answer.result.candidates[one.candidate].retention_tokens == 0);
}

TEST_CASE("law: packs of a builder are offered beside a pick without any, as a search of them in its mode picks them") {
  const Scenario scenario = small_scenario("  release: vllm-0.33\n", "simulate: {trace: {max_requests: 200}}\n");
  RecommendQuestion question = small_question();
  question.space.packs.clear();
  const RecommendAnswer answer = recommend_scenario(scenario, question);
  CHECK(answer.result.layout_of(answer.result.pick).pack() == 1);
  REQUIRE(answer.builder.has_value());
  const BuilderOffer& offer = *answer.builder;
  CHECK(offer.builder == "vllm-builder");
  CHECK(offer.packs == std::vector<std::int64_t>{2, 3, 6});
  // They are weighed beside pages of one layer, as the search had them, and may lose.
  CHECK(offer.result.space.packs == std::vector<std::int64_t>{1, 2, 3, 6});
  question.space.packs = {1, 2, 3, 6};
  question.space.modes = {answer.result.layout_of(answer.result.pick).mode()};
  question.space.block_floors = {std::nullopt};
  question.space.retentions = {0};
  const RecommendAnswer asked = recommend_scenario(scenario, question);
  CHECK(!asked.builder.has_value());
  CHECK(asked.picked().objectives == offer.picked().objectives);
  CHECK(asked.result.layout_of(asked.result.pick).pack() == offer.layout().pack());
  CHECK(asked.pick_evidence == offer.evidence);
  CHECK(offer.is_better == (offer.layout().pack() > 1));
  // Not where packs were left out by whoever asks, nor of a release without that door.
  question = small_question();
  question.space.packs = {1};
  CHECK(!recommend_scenario(scenario, question).builder.has_value());
  question.space.packs.clear();
  const Scenario before = small_scenario("  release: vllm-0.32\n", "simulate: {trace: {max_requests: 50}}\n");
  CHECK(!recommend_scenario(before, question).builder.has_value());
}

TEST_CASE("law: a candidate of an open loop says where it cannot keep up, and one of another loop nothing") {
  const auto pick_of = [](const std::string& simulate) {
    const Scenario scenario = small_scenario("", "simulate: {trace: {prompts: [{tokens: 300, variants: 9}]}, " +
                                                     simulate + "}\n");
    const RecommendAnswer answer = recommend_scenario(scenario, small_question());
    return answer.result.candidates[answer.result.pick];
  };
  CHECK(pick_of("driver: open_loop, max_num_seqs: 2").overload == QueueOverload{.waiting = 7, .running = 2});
  CHECK(!pick_of("driver: open_loop, max_num_seqs: 9").overload.has_value());
  CHECK(!pick_of("driver: closed_loop, in_flight: 9, max_num_seqs: 2").overload.has_value());
}

TEST_CASE("rule: a pack that finds more than the pick in no more bytes of a request is offered as better") {
  const Scenario scenario = read_scenario(parse_scenario(
      "model: Falcon-H1-0.5B\nengine: {memory: 1 GiB, cache_mode: align, release: vllm-0.33}\n"
      "limits: {max_model_len: 4096}\nsimulate: {trace: {max_requests: 100}}\n", "falcon.yaml"));
  RecommendQuestion question;
  question.space.modes = {CacheMode::align};
  const RecommendAnswer answer = recommend_scenario(scenario, question);
  REQUIRE(answer.builder.has_value());
  const Objectives &pack = answer.builder->picked().objectives, &pick = answer.picked().objectives;
  REQUIRE(answer.builder->layout().pack() > 1);
  CHECK(pack.reprefilled_tokens < pick.reprefilled_tokens);
  CHECK(pack.bytes_per_request < pick.bytes_per_request);
  CHECK(answer.builder->is_better);
}
