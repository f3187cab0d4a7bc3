#include "simulator/pool/prefix_rank.h"

#include <doctest/doctest.h>

#include <cmath>

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

TEST_CASE("rule: a kind of prefixes comes back as often as all do, until enough of it have waited to say otherwise") {
  PrefixRank rank(EvictionPolicy::time_to_live);
  const PrefixFacts shorter{.tokens = 16, .saved_tokens = 16, .memory_tokens = 16};
  const PrefixFacts longer{.tokens = 1024, .saved_tokens = 1024, .memory_tokens = 1024};
  for (int i = 0; i < 3; ++i) rank.waits(shorter);
  // Of three none came back: (0 + 1) / (3 + 2) of all. Of the longer kind nothing is known; of the shorter one three
  // that did not weigh against twenty that did as all do. A chance counts twice, over a supposed mean return of 100.
  CHECK(rank.rank(longer) == doctest::Approx(100 * 2 * std::log(1.0 / 5)));
  CHECK(rank.rank(shorter) == doctest::Approx(100 * 2 * std::log(20 * (1.0 / 5) / (3 + 20))));
}
