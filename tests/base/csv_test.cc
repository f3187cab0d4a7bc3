// Tables of comma-separated values: quoted values, numbers, and what is refused.
#include "base/csv.h"

#include <doctest/doctest.h>

#include "base/byte_source.h"
#include "base/error.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using hybridkv::testing::ScratchFolder;

namespace {

CsvReader reader_of(const ScratchFolder& folder, const std::string& text) {
  return {LineReader(open_bytes(folder.file("some.csv", text))), "some.csv"};
}

}  // namespace

TEST_CASE("golden: quotes hold commas and quotes, empty lines do not count, lines may end as on Windows") {
  const ScratchFolder folder;
  CsvReader csv = reader_of(folder, "a,b\r\n\"x, \"\"y\"\"\",2.5\r\n\r\n,7\r\n");
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
  const ScratchFolder folder;
  CsvReader csv = reader_of(folder, "a,b\n1.5,x\n1\n");
  REQUIRE(csv.next());
  CHECK_THROWS_WITH_AS(csv.number("b"), "some.csv:2: b must be a number, is \"x\"", InputError);
  CHECK_THROWS_WITH_AS(csv.whole("a"), "some.csv:2: a must be a whole number, is \"1.5\"", InputError);
  CHECK_THROWS_WITH_AS(csv.next(), "some.csv:3: has 1 values, the first line names 2 columns", InputError);
  CHECK_THROWS_AS(csv.text("bb"), InputError);
  CsvReader open = reader_of(folder, "a\n\"x\n");
  CHECK_THROWS_WITH_AS(open.next(), "some.csv:2: a quoted value does not end on its line", InputError);
}
