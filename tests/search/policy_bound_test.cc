// No policy passes the bound that is proven for all of them.
#include <doctest/doctest.h>

#include <algorithm>

#include "search/hit_ceiling.h"
#include "simulator/schedule/simulation.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("law: no policy finds more than the bound, 600 random workloads") {
  std::int64_t far = 0, near = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    CacheGeometry geometry{.block_size_tokens = dice.roll(1, 5), .num_blocks = dice.roll(8, 60)};
    geometry.state_groups = dice.roll(1, 3);
    geometry.scheduler.checkpoint_back = dice.roll(0, 2);
    const TraceBatch batch = random_batch(dice, 40, 40, 0);
    ReusePaths paths(geometry.block_size_tokens);
    paths.consume(batch);
    const double most = hit_ceiling(paths, {.memory_bytes = geometry.num_blocks - 1,
                                            .unit_bytes = 1,
                                            .state_bytes = geometry.state_groups}).tokens;
    for (const EvictionPolicy policy : values_of(eviction_policy_names)) {
      CAPTURE(to_string(policy));
      geometry.scheduler.eviction = policy;
      const std::int64_t found = run(geometry, {}, batch).stats.hit_tokens;
      REQUIRE(static_cast<double>(found) <= most + 1e-6);
      near += found > 0 && static_cast<double>(found) > 0.8 * most ? 1 : 0;
      far += found > 0 && static_cast<double>(found) < 0.4 * most ? 1 : 0;
    }
  }
  CHECK(std::min(near, far) > 100);
}
