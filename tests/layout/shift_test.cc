#include "layout/shift.h"

#include <doctest/doctest.h>

using namespace hybridkv;

TEST_CASE("golden: a shifted layout has the same indices, each so much further on") {
  constexpr Layout pages({{"block", 2, 5}, {"token", 3, 1}}, 4);
  constexpr Layout moved = shift(pages, 10);
  static_assert(moved.offset() == 14);
  for (std::int64_t block = 0; block < 2; ++block)
    for (std::int64_t token = 0; token < 3; ++token) CHECK(moved.at({block, token}) == pages.at({block, token}) + 10);
  CHECK(shift(moved, -10) == pages);
}

TEST_CASE("fault: nothing is shifted in front of the first element, or beyond 64 bits") {
  CHECK_THROWS_AS(shift(Layout({{"token", 3, 1}}, 4), -5), std::logic_error);
  CHECK_THROWS_AS(shift(Layout({{"token", 3, 1}}, 4), INT64_MAX), InputError);
}
