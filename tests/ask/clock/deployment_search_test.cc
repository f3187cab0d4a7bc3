#include "ask/clock/deployment_search.h"

#include <doctest/doctest.h>

using namespace hybridkv;

namespace {

/// One whose two requests have their first tokens so late, of which 1 s is wanted.
Deployment deployment(bool holds, double first, double second) {
  Deployment one;
  one.holds = holds;
  one.cached = ServedTimes({.first_token = 1});
  for (const double seconds : {first, second}) one.cached.add({.first_token = seconds, .end = seconds, .generated = 1});
  return one;
}

}  // namespace

TEST_CASE("golden: of two deployments the one that holds is better, then by kept limits, then by first tokens") {
  const Deployment fast = deployment(true, 0.1, 0.2), slow = deployment(true, 0.3, 0.4);
  CHECK(serves_better(fast, slow));
  CHECK_FALSE(serves_better(slow, fast));
  CHECK_FALSE(serves_better(fast, fast));
  const Deployment failing = deployment(false, 0.1, 0.1);
  CHECK(serves_better(slow, failing));
  CHECK_FALSE(serves_better(failing, slow));
  // Half of the requests in time before none of them, though its first tokens come later.
  const Deployment half = deployment(false, 0.9, 9), none = deployment(false, 1.1, 1.2);
  CHECK(serves_better(half, none));
  CHECK_FALSE(serves_better(none, half));
  CHECK(serves_better(none, deployment(false, 1.1, 1.3)));
}
