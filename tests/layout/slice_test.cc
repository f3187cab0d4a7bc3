#include "layout/slice.h"

#include <stdexcept>

#include "tests/layout/layout_cases.h"

namespace hybridkv {
namespace {

constexpr Layout sliced_pages({{"block", 2, 5}, {"token", 3, 1}});

TEST_CASE("law: fixing a position leaves the offsets of that position, also as constant expressions") {
  CHECK_CONSTANT(slice(sliced_pages, "block", 1) == Layout({{"token", 3, 1}}, 5));
  CHECK_CONSTANT(slice(slice(sliced_pages, "block", 1), "token", 2) == Layout({}, 7));
  check_for_layouts("fix a position", [](const Layout& layout) {
    for (const Axis& axis : layout.axes()) {
      const auto place = static_cast<std::size_t>(layout.find(axis.name));
      for (std::int64_t position = 0; position < axis.extent; ++position) {
        std::vector<std::int64_t> kept;
        for (const auto& index : indices_of(layout))
          if (index[place] == position) kept.push_back(layout.at(index));
        if (offsets_of(slice(layout, axis.name, position)) != kept) return false;
      }
    }
    return true;
  });
}

TEST_CASE("law: a range of an axis leaves the offsets of that range, also as constant expressions") {
  CHECK_CONSTANT(slice(sliced_pages, "token", 1, 2) == Layout({{"block", 2, 5}, {"token", 2, 1}}, 1));
  CHECK_CONSTANT(slice(sliced_pages, "token", 0, 3) == sliced_pages);
  check_for_layouts("take a range", [](const Layout& layout) {
    for (const Axis& axis : layout.axes()) {
      const auto place = static_cast<std::size_t>(layout.find(axis.name));
      const std::int64_t first = axis.extent / 3, count = axis.extent - first - axis.extent / 4;
      std::vector<std::int64_t> kept;
      for (const auto& index : indices_of(layout))
        if (index[place] >= first && index[place] < first + count) kept.push_back(layout.at(index));
      if (offsets_of(slice(layout, axis.name, first, count)) != kept) return false;
    }
    return true;
  });
}

TEST_CASE("edge: nothing is left of an empty range, wherever it starts") {
  CHECK(slice(sliced_pages, "token", 3, 0) == Layout({{"block", 2, 5}, {"token", 0, 1}}));
  constexpr std::int64_t far = std::int64_t{1} << 62;
  CHECK(slice(Layout({{"x", 2, far}}), "x", 2, 0).extent("x") == 0);
}

TEST_CASE("edge: offsets past 2^31 elements are exact") {
  constexpr Layout pool({{"block", 19418, 1105920}, {"token", 432, 256}});
  CHECK_CONSTANT(slice(pool, "block", 19417).offset() == std::int64_t{19417} * 1105920);
}

TEST_CASE("edge: positions outside the axis and unknown axes are refused") {
  CHECK_THROWS_AS(slice(sliced_pages, "block", 2), std::logic_error);
  CHECK_THROWS_AS(slice(sliced_pages, "block", -1), std::logic_error);
  CHECK_THROWS_AS(slice(sliced_pages, "head", 0), std::logic_error);
  CHECK_THROWS_AS(slice(sliced_pages, "token", 1, 3), std::logic_error);
  CHECK_THROWS_AS(slice(sliced_pages, "token", 4, 0), std::logic_error);
  CHECK_THROWS_AS(slice(sliced_pages, "token", 0, -1), std::logic_error);
}

}  // namespace
}  // namespace hybridkv
