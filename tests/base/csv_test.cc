// Tables of comma-separated values: quoted values, numbers, and what is refused.
#include "base/csv.h"

#include <doctest/doctest.h>

#include <fstream>

#include "base/byte_source.h"
#include "base/error.h"

using namespace hybridkv;

namespace {

CsvReader reader_of(const std::string& text) {
  std::ofstream("some.csv") << text;
  return {LineReader(open_bytes("some.csv")), "some.csv"};
}

}  // namespace

TEST_CASE("golden: quotes hold commas and quotes, empty lines do not count, lines may end as on Windows") {
  CsvReader csv = reader_of("a,b\r\n\"x, \"\"y\"\"\",2.5\r\n\r\n,7\r\n");
  REQUIRE(csv.next());
  CHECK(csv.text("a") == "x, \"y\"");
  CHECK(csv.number("b") == 2.5);
  REQUIRE(csv.next());
  CHECK(csv.number("a", 3) == 3);
  CHECK(csv.whole("b") == 7);
  CHECK_FALSE(csv.next());
  CHECK(csv.has("a"));
  CHECK_FALSE(csv.has("c"));
}

TEST_CASE("edge: what cannot be read is refused with its line and column") {
  CsvReader csv = reader_of("a,b\n1.5,x\n1\n");
  REQUIRE(csv.next());
  CHECK_THROWS_WITH_AS(csv.number("b"), "some.csv:2: b must be a number, is \"x\"", InputError);
  CHECK_THROWS_WITH_AS(csv.whole("a"), "some.csv:2: a must be a whole number, is \"1.5\"", InputError);
  CHECK_THROWS_WITH_AS(csv.next(), "some.csv:3: has 1 values, the first line names 2 columns", InputError);
  CHECK_THROWS_AS(csv.text("bb"), InputError);
  CsvReader open = reader_of("a\n\"x\n");
  CHECK_THROWS_WITH_AS(open.next(), "some.csv:2: a quoted value does not end on its line", InputError);
}
