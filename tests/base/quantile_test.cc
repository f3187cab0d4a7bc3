// The value of which a share of others lies below.
#include "base/quantile.h"

#include <doctest/doctest.h>

using hybridkv::quantile;

TEST_CASE("golden: the median of an even number is the upper one, the order of the values does not matter") {
  CHECK(quantile({3, 1, 2}, 0.5) == 2);
  CHECK(quantile({4, 1, 3, 2}, 0.5) == 3);
  CHECK(quantile({4, 1, 3, 2}, 0) == 1);
  CHECK(quantile({4, 1, 3, 2}, 1) == 4);
}

TEST_CASE("edge: of no values it is 0") { CHECK(quantile({}, 0.5) == 0); }
