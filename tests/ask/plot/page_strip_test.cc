// Which pages of a plan are drawn.
#include "ask/plot/page_strip.h"

#include <doctest/doctest.h>

#include <string>

#include "ask/plan.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("golden: a page of each kind is drawn, and beside it the last one of a group where that lacks layers") {
  const auto num_strips = [](std::int64_t pack) {
    const Scenario scenario = small_scenario("  attention_pack_size: " + std::to_string(pack) + "\n");
    return page_strips(plan_scenario(scenario, {pack}).plans.front()).size();
  };
  CHECK(num_strips(3) == 2);
  CHECK(num_strips(4) == 3);  // of six layers with attention two lie in the second page
  CHECK(num_strips(6) == 2);
  CHECK(num_strips(8) == 2);  // the only page lacks two layers, and is drawn once
}
