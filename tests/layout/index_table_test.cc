#include "layout/index_table.h"

#include <doctest/doctest.h>

#include <stdexcept>

namespace hybridkv {
namespace {

TEST_CASE("edge: a layout with two axes is one table") {
  CHECK(index_table(Layout({{"block", 2, 5}, {"token", 3, 1}})) ==
        "block\\token  0  1  2\n"
        "          0  0  1  2\n"
        "          1  5  6  7\n");
}

TEST_CASE("edge: axes further out make a table per position, with its title") {
  CHECK(index_table(Layout({{"kv", 2, 10}, {"t", 1, 0}, {"d", 2, 1}}, 100)) ==
        "kv 0\n"
        "t\\d    0    1\n"
        "  0  100  101\n"
        "\n"
        "kv 1\n"
        "t\\d    0    1\n"
        "  0  110  111\n");
}

TEST_CASE("edge: one axis is one row, no axis one number, and no element no cell") {
  CHECK(index_table(Layout({{"x", 3, 4}})) == "x  0  1  2\n   0  4  8\n");
  CHECK(index_table(Layout({}, 42)) == "42\n");
  CHECK(index_table(Layout({{"x", 0, 4}, {"y", 2, 1}})) == "x\\y  0  1\n");
}

TEST_CASE("edge: what nobody would read is refused") {
  CHECK_NOTHROW(index_table(Layout({{"x", 4096, 1}})));
  CHECK_THROWS_AS(index_table(Layout({{"x", 4097, 1}})), std::logic_error);
}

}  // namespace
}  // namespace hybridkv
