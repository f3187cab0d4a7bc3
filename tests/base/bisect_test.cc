#include "base/bisect.h"

#include <doctest/doctest.h>

using namespace hybridkv;

TEST_CASE("law: the last number that holds is found wherever it lies, in few steps") {
  for (std::int64_t end = 1; end <= 40; ++end)
    for (std::int64_t last = 0; last < end; ++last) {
      int asked = 0;
      const auto holds = [&](std::int64_t value) {
        ++asked;
        return value <= last;
      };
      CHECK(last_that(0, end, holds) == last);
      CHECK(asked <= 6);
    }
}

TEST_CASE("edge: a range of one number, and one that reaches the largest") {
  CHECK(last_that(7, 8, [](std::int64_t) { return false; }) == 7);
  constexpr std::int64_t most = INT64_MAX;
  CHECK(last_that(0, most, [](std::int64_t value) { return value < most / 3 * 2; }) == most / 3 * 2 - 1);
}
