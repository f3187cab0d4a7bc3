// Which engine to take.
#include "ask/recommend_engines.h"

#include <doctest/doctest.h>

#include "tests/ask/engine_recommendations.h"

using namespace hybridkv;
using namespace hybridkv::testing;

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
  const EngineRecommendation built = with_results(recommended("vllm-0.33", {2}), 0, 1000);
  const EngineRecommendation modelled = with_results(recommended("vllm-0.32", {2}), 0, 1000);
  const EngineRecommendation refused{"tensorrt-llm", {}, "too little memory"};
  CHECK(today.answer->pick_evidence == Evidence::run);
  CHECK(built.answer->pick_evidence == Evidence::builder);
  CHECK(modelled.answer->pick_evidence == Evidence::modelled);
  CHECK(read.answer->pick_evidence == Evidence::source_only);
  CHECK(engine_to_take(std::vector{packed, read, modelled, built, today}) == 4);
  CHECK(engine_to_take(std::vector{refused, read}) == 1);
  CHECK(engine_to_take(std::vector{refused}) == std::nullopt);
  CHECK(engine_to_take({}) == std::nullopt);
}
