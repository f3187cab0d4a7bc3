// Which engine to take, and what is said of it.
#include "report/recommend/recommend_engines.h"

#include <doctest/doctest.h>

#include <vector>

#include "planner/engine_rules.h"
#include "tests/ask/asked.h"
#include "tests/contains.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// What a small search says under a release.
EngineRecommendation recommended(const std::string& release, std::vector<std::int64_t> packs = {}) {
  RecommendQuestion question;
  question.space.packs = std::move(packs);
  const std::string trace = "simulate: {trace: {max_requests: 40}}\n";
  return {release, recommend_scenario(small_scenario("  release: " + release + "\n", trace), question), {}};
}

/// The same with another number of tokens computed again by its pick, and of requests at once.
EngineRecommendation with_results(EngineRecommendation engine, double again, double at_once) {
  Objectives& objectives = engine.answer->result.candidates[engine.answer->result.pick].objectives;
  objectives.reprefilled_tokens = static_cast<std::int64_t>(again);
  objectives.concurrency = at_once;
  return engine;
}

}  // namespace

TEST_CASE("rule: fewest tokens again, of those within half a percent the most requests, of equal ones the first") {
  const EngineRecommendation blocks = recommended("vllm-0.33");
  const EngineRecommendation tree = recommended("sglang-0.5.23");
  const double whole = static_cast<double>(blocks.answer->result.workload.prompt_tokens);
  const auto taken = [&](double more, double at_once) {
    const std::vector<EngineRecommendation> engines{with_results(blocks, 0.3 * whole, 10),
                                                    with_results(tree, (0.3 + more) * whole, at_once)};
    return engine_to_take(engines);
  };
  CHECK(taken(-0.01, 5) == 1);
  CHECK(taken(0.01, 50) == 0);
  CHECK(taken(0.004, 50) == 1);
  CHECK(taken(-0.004, 5) == 0);
  CHECK(taken(0, 10) == 0);
}

TEST_CASE("rule: taken is what can be started today and was run, and only where there is none another one") {
  const EngineRecommendation packed = with_results(recommended("vllm-2026-06", {2}), 0, 1000);
  const EngineRecommendation read = with_results(recommended("jenga"), 0, 1000);
  const EngineRecommendation today = with_results(recommended("vllm-0.33"), 1e9, 1);
  const EngineRecommendation modelled = with_results(recommended("vllm-0.33", {2}), 0, 1000);
  const EngineRecommendation refused{"tensorrt-llm", {}, "too little memory"};
  CHECK(evidence_of_pick(*today.answer) == Evidence::run);
  CHECK(evidence_of_pick(*modelled.answer) == Evidence::modelled);
  CHECK(evidence_of_pick(*read.answer) == Evidence::source_only);
  CHECK(engine_to_take(std::vector{packed, read, modelled, refused, today}) == 4);
  CHECK(engine_to_take(std::vector{refused, read}) == 1);
  CHECK(engine_to_take(std::vector{refused}) == std::nullopt);
  CHECK(engine_to_take({}) == std::nullopt);
}

TEST_CASE("golden: the verdict names the engine, its numbers, the next one, and who refuses") {
  const std::vector<EngineRecommendation> engines{with_results(recommended("vllm-0.33"), 1000, 7.5),
                                                  with_results(recommended("sglang-0.5.23"), 9e8, 3),
                                                  recommended("jenga"),
                                                  {"tensorrt-llm", {}, "too little memory"}};
  const std::string text = render_text(recommend_engines(engines));
  CAPTURE(text);
  CHECK(text.starts_with("Engines for Qwen3.5-0.8B, tensor parallel 1\n\nTake vllm-0.33 with N = 1, mode align, "));
  CHECK(contains(text, "computed again, and 7.50 requests of"));
  CHECK(contains(text, "Next is sglang-0.5.23: "));
  CHECK(contains(text, "* vllm-0.33 "));
  CHECK(contains(text, "\n  jenga "));
  CHECK(contains(text, "Start it\n"));
  CHECK(contains(text, "vllm serve Qwen/Qwen3.5-0.8B "));
  CHECK(contains(text, "! tensorrt-llm: refused: too little memory"));
  CHECK(std::count(text.begin(), text.end(), '\n') <= 40);
  const std::string others = render_text(recommend_engines(std::span(engines).subspan(2)));
  CHECK(contains(others, "Take jenga with"));
  CHECK(contains(others, "None of these engines"));
}
