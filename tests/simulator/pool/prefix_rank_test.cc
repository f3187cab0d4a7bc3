#include "simulator/pool/prefix_rank.h"

#include <doctest/doctest.h>

using namespace hybridkv;

TEST_CASE("rule: the mean return is that of prefixes gone on from for the first time, of which old ones fade") {
  PrefixRank rank(EvictionPolicy::worth);
  CHECK(rank.mean_return() == 100);  // is supposed until one came back
  rank.returned({.tokens = 16}, 10);
  CHECK(rank.mean_return() == doctest::Approx(10));
  // The first one counts for 499 / 500 by now.
  rank.returned({.tokens = 16}, 40);
  CHECK(rank.mean_return() == doctest::Approx((0.998 * 10 + 40) / 1.998));
  rank.returned({.tokens = 16, .uses = 1}, 1000);
  CHECK(rank.mean_return() == doctest::Approx((0.998 * 10 + 40) / 1.998));
}
