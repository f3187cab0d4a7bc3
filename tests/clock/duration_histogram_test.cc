// Durations counted in buckets of one per cent.
#include "clock/duration_histogram.h"

#include <doctest/doctest.h>

#include "tests/close_to.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("law: percentiles of a histogram are right to one per cent") {
  DurationHistogram histogram;
  CHECK(histogram.quantile(0.5) == 0);
  for (int i = 1; i <= 1000; ++i) histogram.add(i * 1e-3);
  CHECK(histogram.count() == 1000);
  CHECK(histogram.mean() == doctest::Approx(0.5005));
  CHECK(histogram.max() == 1);
  for (const double share : {0.01, 0.5, 0.9, 0.99, 1.0})
    CHECK(histogram.quantile(share) == close_to(share, 0.011));
  histogram.add(0);
  CHECK(histogram.quantile(0) == 0);
}
