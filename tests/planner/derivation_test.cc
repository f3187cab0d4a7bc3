// What a derivation says of a number comes to that number.
#include "planner/derivation.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/planner/derived_cases.h"
#include "tests/planner/formula.h"
#include "tests/planner/random_specs.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("law: the values of a rule come to its result") {
  int formulas = 0;
  const auto check = [&](const CachePlan& plan) -> std::string {
    for (const Decision& decision : plan.derivation) {
      const auto values = substituted_rule(decision);
      if (!values) continue;
      const double result = std::holds_alternative<double>(decision.result.value)
                                ? std::get<double>(decision.result.value)
                                : static_cast<double>(std::get<std::int64_t>(decision.result.value));
      const double value = value_of_formula(*values);
      if (!(std::abs(value - result) <= 1e-9 * std::max(1.0, std::abs(result))))
        return fmt::format("{}: {} = {}", decision.result.symbol, *values, value);
      ++formulas;
    }
    return "";
  };
  for (const DerivedCase& one : derived_cases()) {
    CAPTURE(one.name);
    CHECK(check(derived_plans(one).plans.front()) == "");
  }
  CHECK(check_plans("formulas", 300, SpecSize::real, [&](const RandomSpecs&, const CachePlan& plan) {
    RC_ASSERT(check(plan) == "");
  }, Strategies::all));
  CHECK(check_plans("formulas of one allocation", 300, SpecSize::real, [&](const RandomSpecs&, const CachePlan& plan) {
    RC_ASSERT(check(plan) == "");
  }, Strategies::one_allocation));
  CHECK(formulas > 20'000);
}

TEST_CASE("golden: where the lanes of a pool lie is said as the strategy lays them") {
  for (const DerivedCase& one : derived_cases()) {
    CAPTURE(one.name);
    const CachePlan plan = derived_plans(one).plans.front();
    const bool in_pages = plan.strategy == Strategy::pool_groups;
    for (const Decision& decision : plan.derivation)
      if (decision.rule.starts_with("bytes = ids * page: "))
        CHECK((decision.rule == "bytes = ids * page: those of lane j lie j pages behind those of lane 0") == in_pages);
  }
}

TEST_CASE("golden: how many requests run beside a radix tree is derived, by its states alone too") {
  int trees = 0;
  for (const DerivedCase& one : derived_cases()) {
    const CachePlan plan = derived_plans(one).plans.front();
    if (!plan.tree_pools) continue;
    CAPTURE(one.name);
    std::map<std::string, std::int64_t> derived;
    for (const Decision& decision : plan.derivation)
      if (const auto* count = std::get_if<std::int64_t>(&decision.result.value))
        derived[decision.result.symbol] = *count;
    CHECK(derived.at("running requests of the engine") == plan.tree_pools->split.max_running);
    const TokenStateSplit& split = plan.tree_pools->split;
    CHECK(derived.at("requests by state slots") == split.state_slots / split.state_slots_per_request);
    ++trees;
  }
  CHECK(trees > 5);
}

TEST_CASE("golden: grains stand in the rule of what lies beyond the memory only where ids are counted by them") {
  int by_grains = 0, otherwise = 0;
  for (const DerivedCase& one : derived_cases()) {
    const CachePlan plan = derived_plans(one).plans.front();
    if (!plan.pool_groups) continue;
    CAPTURE(one.name);
    const auto beyond = std::find_if(plan.derivation.begin(), plan.derivation.end(), [](const Decision& decision) {
      return decision.result.symbol == "bytes beyond the memory";
    });
    REQUIRE(beyond != plan.derivation.end());
    // The first manager counts no grains, and neither does who says how many ids there are.
    const bool has_grains = !plan.pool_groups->first_manager && !one.engine.num_blocks;
    CHECK(beyond->rule == (has_grains ? "grains * grain - memory" : "what the ids take beyond it"));
    ++(has_grains ? by_grains : otherwise);
  }
  CHECK(by_grains > 0);
  CHECK(otherwise == 2);
}

TEST_CASE("golden: ranks that share tokens stand in the rules of a plan that has them, and in no other") {
  for (const DerivedCase& one : derived_cases()) {
    CAPTURE(one.name);
    const CachePlan plan = derived_plans(one).plans.front();
    const bool named = std::any_of(plan.derivation.begin(), plan.derivation.end(), [](const Decision& decision) {
      return decision.rule.find("DCP") != std::string::npos;
    });
    CHECK(named == (plan.decode_context_parallel > 1));
  }
}

TEST_CASE("golden: of a state in several small pages the first, the second and the last of each tensor are derived") {
  // A page is 16 tokens of 1,024 bytes: conv has 4,608 bytes of page 0, ssm the 65,536 behind them, up to page 4.
  const ModelSpec model = hybrid_model("two layers", 2, full_attention(4, 64), qwen_gdn(2, 2),
                                       [](std::int64_t layer) { return layer == 1; });
  const CachePlan plan = make_plan(model, {.strategy = Strategy::small_pages, .memory_bytes = gib},
                                   {.max_model_lens = {1024}});
  std::vector<std::string> pages;
  for (const Decision& decision : plan.derivation)
    if (decision.result.symbol.starts_with("element of "))
      pages.push_back(decision.result.symbol.substr(11) + ": " + decision.rule.substr(decision.rule.rfind("page ")));
  CHECK(pages == std::vector<std::string>{
                     "conv, spec 0 (gdn): page 0 of an entry", "ssm, spec 0 (gdn): page 0 of an entry",
                     "ssm, spec 0 (gdn): page 1 of an entry", "ssm, spec 0 (gdn): page 4 of an entry"});
}

TEST_CASE("golden: states of drafts are one for each draft and group of states") {
  const ModelSpec model = hybrid_model("three layers", 3, full_attention(4, 64), qwen_gdn(2, 2),
                                       [](std::int64_t layer) { return layer == 2; });
  const EngineSpec engine{.cache_mode = CacheMode::align, .speculative_tokens = 3, .memory_bytes = gib};
  const CachePlan plan = make_plan(model, engine, {.max_model_lens = {1024}});
  const auto drafts = std::find_if(plan.derivation.begin(), plan.derivation.end(), [](const Decision& decision) {
    return decision.result.symbol == "ids for speculative states at 1,024 tokens";
  });
  REQUIRE(drafts != plan.derivation.end());
  CHECK(std::get<std::int64_t>(drafts->result.value) == 6);  // two groups of states, one of attention
  CHECK(substituted_rule(*drafts).value_or("in words").ends_with("2 * 3"));
}

TEST_CASE("golden: of a pack of two it is derived how far the second layer lies behind the first") {
  const ModelSpec model = hybrid_model("three layers", 3, full_attention(4, 64), qwen_gdn(2, 2),
                                       [](std::int64_t layer) { return layer > 0; });
  const EngineSpec engine{.cache_mode = CacheMode::align, .attention_pack_size = 2, .memory_bytes = gib};
  const CachePlan plan = make_plan(model, engine, {.max_model_lens = {1024}});
  const auto offset = std::find_if(plan.derivation.begin(), plan.derivation.end(), [](const Decision& decision) {
    return decision.result.symbol == "offset between layers of kv, spec 1 (full_attention)";
  });
  REQUIRE(offset != plan.derivation.end());
  // Before it lie the tokens of a block of the first layer, each with K and V of 64 elements in 4 heads.
  CHECK(std::get<std::int64_t>(offset->result.value) == plan.specs[1].block_size_tokens * 4 * (64 + 64));
}
