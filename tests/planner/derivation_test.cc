// What a derivation says of a number comes to that number.
#include "planner/derivation.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

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
