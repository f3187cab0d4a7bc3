#include "report/plan/parameters_facts.h"

#include <doctest/doctest.h>

using namespace hybridkv;

TEST_CASE("edge: parameters are counted one by one below a tenth of a million, in billions from a tenth of one on") {
  CHECK(parameter_count_text(99'999) == "99,999");
  CHECK(parameter_count_text(100'000) == "0.1 M");
  CHECK(parameter_count_text(99'900'000) == "99.9 M");
  CHECK(parameter_count_text(100'000'000) == "0.10 B");
}
