#include "search/shared_depths.h"

#include <doctest/doctest.h>

#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("edge: how deep prompts go with earlier ones, and what last states moved back find") {
  ReusePaths paths(10);
  // The second shares 20 tokens with the first, the third 40 with the second, whose last state lies at 40.
  paths.consume(batch_of({{{1, 25}, {2, 10}}, {{1, 25}, {3, 15}, {4, 5}}, {{1, 25}, {3, 15}, {5, 20}}, {{6, 30}}}));
  const SharedDepths shared = shared_depths(paths, 2);
  CHECK(shared.depths == std::vector<SharedDepth>{{2, 1}, {4, 1}});
  CHECK(shared.requests == 2);
  CHECK(shared.units == 6);
  // One back: the first's at 20 too, the second's at 30.
  CHECK(shared.found_back == std::vector<std::int64_t>{4, 5, 3});
}

TEST_CASE("edge: a copy never goes on from its own last token") {
  ReusePaths paths(10);
  paths.consume(copies_of({{1, 30}}, 2));
  const SharedDepths shared = shared_depths(paths, 1);
  CHECK(shared.depths == std::vector<SharedDepth>{{2, 1}});
  CHECK(shared.found_back == std::vector<std::int64_t>{0, 2});
}
