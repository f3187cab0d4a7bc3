#include "ask/plot/request_curves.h"

#include <doctest/doctest.h>

#include "ask/plan.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("law: curves of a request are the planner's capacity at each length") {
  const Scenario scenario = small_scenario("  attention_pack_size: [1, 2]\n");
  const PlanSet set = plan_scenario(scenario, scenario.pack_sizes);
  const RequestBytes bytes = request_bytes(set);
  const ConcurrencyCurves requests = concurrency_curves(set);
  CHECK(requests.lengths == std::vector<std::int64_t>{64, 256, 1024, 4096});
  for (std::size_t i = 0; i < 2; ++i) {
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
