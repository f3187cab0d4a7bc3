#include "ask/plot/request_curves.h"

#include <doctest/doctest.h>

#include "ask/plan.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("law: curves of a request are the planner's capacity at each length") {
  const Scenario scenario = small_scenario("  attention_pack_size: [1, 2, 3]\n");
  const PlanSet set = plan_scenario(scenario, scenario.pack_sizes);
  const RequestBytes bytes = request_bytes(set);
  const ConcurrencyCurves requests = concurrency_curves(set);
  CHECK(requests.lengths == std::vector<std::int64_t>{64, 256, 1024, 4096});
  CHECK(bytes.ideal_bytes.size() == bytes.lengths.size());  // one for all packs
  for (std::size_t i = 0; i < 3; ++i) {
    const CapacityPlan& longest = set.plans[i].capacity.front();
    CHECK(bytes.lengths.back() == 4096);
    CHECK(bytes.bytes[i].back() == longest.bytes_per_request);
    CHECK(bytes.ideal_bytes.back() == longest.ideal_bytes_per_request);
    CHECK(requests.requests[i].back() == longest.usable_concurrency);
    for (std::size_t at = 0; at < bytes.lengths.size(); ++at)
      if (bytes.bytes[i][at])
        CHECK(*bytes.bytes[i][at] == bytes_of(set.plans[i], request_demand(set.plans[i], bytes.lengths[at])));
  }
}

TEST_CASE("edge: beside a short longest length no request without tokens is drawn") {
  ScenarioFile file = small_file();
  apply_override(file, "limits.max_model_len=16");
  // Of 16 tokens a quarter is 4, a sixteenth 1; a 64th would be none.
  CHECK(concurrency_curves(plan_scenario(read_scenario(file), {1})).lengths == std::vector<std::int64_t>{1, 4, 16});
}
