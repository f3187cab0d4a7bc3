#include "ask/plan.h"

#include <doctest/doctest.h>

#include <string>

#include "base/error.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("law: packs planned alone are those planned together") {
  const Scenario scenario = small_scenario("  attention_pack_size: [1, 3]\n");
  const PlanSet set = plan_scenario(scenario, scenario.pack_sizes, PlanDetail::numbers);
  REQUIRE(set.plans.size() == 2);
  for (std::size_t i = 0; i < set.plans.size(); ++i) {
    CachePlan alone = plan_pack(scenario, i, PlanDetail::numbers);
    alone.warnings = set.plans[i].warnings;
    CHECK(alone == set.plans[i]);
  }
}

TEST_CASE("law: findings are the comparison of the packs, and the ids of a request of the longest length") {
  const Scenario scenario = small_scenario("  attention_pack_size: [1, 3]\n");
  const PlanSet set = plan_scenario(scenario, scenario.pack_sizes);
  const PlanAnswer findings = plan_answer(set);
  CHECK(findings.packs.best == compare_packs(set.plans).best);
  REQUIRE(findings.requests.size() == 2);
  for (std::size_t i = 0; i < 2; ++i)
    CHECK(findings.requests[i].total() == set.plans[i].capacity.front().blocks_per_request);
}

TEST_CASE("fault: what cannot be planned is an error with the place of its value") {
  const auto error_of = [](const Scenario& scenario) -> std::string {
    try {
      plan_scenario(scenario, scenario.pack_sizes);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  const std::string ranks = error_of(small_scenario("  tensor_parallel: 3\n"));
  CAPTURE(ranks);
  CHECK(ranks.starts_with("small.yaml:5:"));
  CHECK(ranks.find("tensor_parallel: 3") != std::string::npos);
}
