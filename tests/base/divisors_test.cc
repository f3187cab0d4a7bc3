// The largest divisor under a limit.
#include "base/divisors.h"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace hybridkv;

TEST_CASE("law: of every number and limit up to 300 it is the largest divisor, as counting down finds it") {
  for (std::int64_t value = 1; value <= 300; ++value)
    for (std::int64_t limit = 1; limit <= value + 2; ++limit) {
      std::int64_t expected = limit;
      while (value % expected != 0) --expected;
      CAPTURE(value);
      CAPTURE(limit);
      REQUIRE(largest_divisor_at_most(value, limit) == expected);
    }
}

TEST_CASE("regression: a block of 34,359,738,352 tokens takes no search that counts down one by one") {
  // 2^4 * 2,147,483,647, the second factor prime: below it there is 16 alone, and counting down takes 2 * 10^9 steps.
  CHECK(largest_divisor_at_most(34'359'738'352, 2'147'483'646) == 16);
  CHECK(largest_divisor_at_most(34'359'738'352, 34'359'738'351) == 17'179'869'176);
  CHECK(largest_divisor_at_most((std::int64_t{1} << 40) - 1, (std::int64_t{1} << 39)) == 366'503'875'925);  // a third
  CHECK(largest_divisor_at_most(std::int64_t{1} << 40, (std::int64_t{1} << 40) - 1) == std::int64_t{1} << 39);
}

TEST_CASE("edge: limits outside of the number, and none") {
  CHECK(largest_divisor_at_most(1, 1) == 1);
  CHECK(largest_divisor_at_most(7, 100) == 7);
  CHECK(largest_divisor_at_most(7, 6) == 1);
  CHECK_THROWS_AS(largest_divisor_at_most(0, 1), std::logic_error);
  CHECK_THROWS_AS(largest_divisor_at_most(1, 0), std::logic_error);
}
