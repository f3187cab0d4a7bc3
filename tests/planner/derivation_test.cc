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
