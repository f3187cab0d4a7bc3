#include "base/add_once.h"

#include <doctest/doctest.h>

#include <string>

using namespace hybridkv;

TEST_CASE("golden: a value is added where it is not there yet, behind the others") {
  std::vector<std::string> values{"b"};
  for (const char* value : {"a", "b", "a", "c"}) add_once(values, value);
  CHECK(values == std::vector<std::string>{"b", "a", "c"});
}
