#include "report/human.h"

#include <doctest/doctest.h>

#include <vector>

using namespace hybridkv;

TEST_CASE("edge: lists name an even spacing and shorten the rest") {
  const auto list = [](std::vector<std::int64_t> values) { return human_list(values); };
  CHECK(list({}) == "");
  CHECK(list({3}) == "3");
  CHECK(list({3, 7, 11, 15, 19, 23}) == "3, 7, 11, 15, 19, 23");
  CHECK(list({3, 7, 11, 15, 19, 23, 27}) == "3 to 27 by 4");
  CHECK(list({0, 1, 2, 3, 4, 5, 6}) == "0 to 6");
  CHECK(list({0, 1, 2, 4, 5, 6, 8}) == "0, 1, 2, 4, ..., 8 (7 in all)");
  CHECK(list({1, 1, 1, 1, 1, 1, 1}) == "1, 1, 1, 1, ..., 1 (7 in all)");
}
