#include "ask/plot/memory_curves.h"

#include <doctest/doctest.h>

#include "ask/replay/replay_settings.h"
#include "base/error.h"
#include "engines/jenga/rules.h"
#include "engines/llama_cpp/rules.h"
#include "engines/sglang/rules.h"
#include "planner/plan.h"
#include "simulator/blocks/plan_geometry.h"
#include "simulator/sweep.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

PlotInputs asked(std::int64_t memory_bytes) {
  PlotInputs inputs;
  inputs.model = qwen35_397b();
  inputs.engine.tensor_parallel = 2;
  inputs.engine.cache_mode = CacheMode::align;
  inputs.engine.memory_bytes = memory_bytes;
  inputs.limits.max_model_lens = {32768};
  inputs.simulate.trace.max_requests = 150;
  const std::vector<std::int64_t> packs{5};
  inputs.set = inputs.compared = make_plans(inputs.model, inputs.engine, inputs.limits, packs);
  return inputs;
}

}  // namespace

TEST_CASE("law: every policy finds at most what none passes; the curve of lru is that of a replay at each memory") {
  const PlotInputs inputs = asked(std::int64_t{4} << 30);
  const MemoryCurves curves = memory_curves(inputs);
  REQUIRE(std::ssize(curves.memory_bytes) == curve_points);
  CHECK(curves.memory_bytes.front() == std::int64_t{1} << 30);
  CHECK(curves.policies.front() == EvictionPolicy::lru);
  for (std::size_t at = 0; at < curves.memory_bytes.size(); ++at) {
    CAPTURE(curves.memory_bytes[at]);
    REQUIRE(curves.upper[at].has_value());
    CHECK(*curves.feasible[at] <= *curves.upper[at]);
    for (const auto& of_policy : curves.found)
      CHECK(of_policy[at]->rate(of_policy[at]->hit_tokens) <= *curves.upper[at]);
    EngineSpec engine = inputs.engine;
    engine.attention_pack_size = 5;
    engine.memory_bytes = curves.memory_bytes[at];
    const CacheGeometry geometry = geometry_of(make_plan(inputs.model, engine, inputs.limits), engine);
    const SimulateRequest& request = inputs.simulate;
    SweepSpec sweep;
    sweep.simulations.push_back({.cache = geometry, .driver = request.driver});
    const SweepResult alone = run_sweep(*open_trace(request.trace), sweep);
    CHECK(alone.caches.front().counts().hit_tokens == curves.found.front()[at]->hit_tokens);
    CHECK(alone.caches.front().counts().taken_prompt_tokens == curves.found.front()[at]->taken_prompt_tokens);
  }
}

TEST_CASE("edge: memory that holds no request has no point; a number of blocks stands for no memory") {
  PlotInputs inputs = asked(std::int64_t{1} << 30);
  const MemoryCurves curves = memory_curves(inputs);
  CHECK(!curves.found.front().front().has_value());
  CHECK(!curves.upper.front().has_value());
  CHECK(curves.found.front().back().has_value());
  inputs.engine.num_blocks = 100;
  CHECK_THROWS_WITH_AS(memory_curves(inputs), doctest::Contains("give engine.memory"), InputError);
}

TEST_CASE("edge: a cache that no other policy orders has the curve of lru alone, one without prefixes none") {
  PlotInputs inputs = asked(std::int64_t{40} << 30);
  inputs.engine.rules = &rules_of_jenga;
  inputs.engine.strategy = Strategy::two_level;
  const std::vector<std::int64_t> packs{1};
  inputs.set = inputs.compared = make_plans(inputs.model, inputs.engine, inputs.limits, packs);
  const MemoryCurves curves = memory_curves(inputs);
  CHECK(curves.policies == std::vector<EvictionPolicy>{EvictionPolicy::lru});
  CHECK(curves.found.front().back()->hit_tokens > 0);
  inputs = asked(std::int64_t{40} << 30);
  inputs.engine.cache_mode = CacheMode::none;
  inputs.set = inputs.compared = make_plans(inputs.model, inputs.engine, inputs.limits, packs);
  CHECK_THROWS_WITH_AS(memory_curves(inputs), doctest::Contains("engine.cache_mode: this cache finds no prefix"),
                       SpecError);
}

TEST_CASE("edge: of a longer made-up trace the first 3,000 requests are enough for a curve, and said") {
  PlotInputs inputs = asked(std::int64_t{4} << 30);
  inputs.simulate.trace.max_requests = 5000;
  inputs.simulate.trace.synthetic.max_prompt_tokens = 2048;  // short ones, replayed in a second
  const MemoryCurves curves = memory_curves(inputs);
  CHECK(curves.trace.starts_with("3,000 made-up requests"));
  CHECK(curves.found.front().back()->requests == 3000);
}

TEST_CASE("law: a tree and slots have a curve too, that of their replays at each memory") {
  for (const EngineRules* const rules : {&rules_of_sglang_0_5_23, &rules_of_llama_cpp}) {
    CAPTURE(rules->title);
    PlotInputs inputs = asked(std::int64_t{8} << 30);
    inputs.engine.rules = rules;
    inputs.engine.strategy = rules->strategy;
    const std::vector<std::int64_t> packs{1};
    inputs.set = inputs.compared = make_plans(inputs.model, inputs.engine, inputs.limits, packs);
    const MemoryCurves curves = memory_curves(inputs);
    REQUIRE(curves.found.size() == 1);
    Scenario scenario;
    scenario.model = inputs.model;
    scenario.engine = inputs.engine;
    scenario.limits = inputs.limits;
    scenario.pack_sizes = packs;
    scenario.simulate = inputs.simulate;
    std::int64_t points = 0;
    for (std::size_t at = 0; at < curves.memory_bytes.size(); ++at) {
      const auto& found = curves.found.front()[at];
      if (!found) continue;
      ++points;
      scenario.engine.memory_bytes = curves.memory_bytes[at];
      CHECK(found->hit_tokens == replay_setting(scenario).counts().hit_tokens);
    }
    CHECK(points > curve_points / 2);
    CHECK(curves.found.front().back()->hit_tokens > 0);
  }
}
