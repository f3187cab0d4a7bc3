#include "layout/layout.h"

#include <limits>
#include <stdexcept>

#include "tests/layout/layout_cases.h"

namespace hybridkv {
namespace {

constexpr Layout pages({{"block", 2, 5}, {"token", 3, 1}});

TEST_CASE("law: an index means offset + sum of position * stride, also as constant expressions") {
  CHECK_CONSTANT(pages.at({1, 2}) == 7);
  CHECK_CONSTANT(Layout({{"block", 2, 5}, {"token", 3, 1}}, 10).at({1, 2}) == 17);
  CHECK_CONSTANT(Layout({}, 4).at(std::initializer_list<std::int64_t>{}) == 4);
  check_for_layouts("offset", [](const Layout& layout) {
    for (const auto& index : indices_of(layout)) {
      std::int64_t expected = layout.offset();
      for (int i = 0; i < layout.rank(); ++i) expected += index[static_cast<std::size_t>(i)] * layout[i].stride;
      if (layout.at(index) != expected) return false;
    }
    return static_cast<std::int64_t>(indices_of(layout).size()) == layout.num_elements();
  });
}

TEST_CASE("law: axes are found by name") {
  CHECK_CONSTANT(pages.find("token") == 1 && pages.find("head") == -1);
  CHECK_CONSTANT(pages.extent("block") == 2 && pages.stride("block") == 5);
  CHECK_THROWS_AS(pages.axis("head"), std::logic_error);
  CHECK_THROWS_AS(pages.stride("Token"), std::logic_error);
}

TEST_CASE("edge: indices of another rank or outside the extents are refused") {
  CHECK_THROWS_AS(pages.at({1}), std::logic_error);
  CHECK_THROWS_AS(pages.at({1, 2, 0}), std::logic_error);
  CHECK_THROWS_AS(pages.at({2, 0}), std::logic_error);
  CHECK_THROWS_AS(pages.at({0, -1}), std::logic_error);
}

TEST_CASE("edge: layouts that break an invariant are refused") {
  CHECK_THROWS_AS(Layout({{"x", 2, 1}, {"x", 3, 2}}), std::logic_error);
  CHECK_THROWS_AS(Layout({{"x", -1, 1}}), std::logic_error);
  CHECK_THROWS_AS(Layout({{"x", 1, -1}}), std::logic_error);
  CHECK_THROWS_AS(Layout({{"x", 1, 1}}, -1), std::logic_error);
  const std::vector<Axis> nine{{"a"}, {"b"}, {"c"}, {"d"}, {"e"}, {"f"}, {"g"}, {"h"}, {"i"}};
  CHECK_NOTHROW(Layout(std::span(nine).first(8)));
  CHECK_THROWS_AS(Layout(std::span<const Axis>(nine)), std::logic_error);
}

TEST_CASE("edge: offsets past 2^31 are exact and past 64 bits refused") {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  constexpr Layout pool({{"block", 19418, 1105920}, {"token", 432, 256}});
  CHECK_CONSTANT(pool.at({19417, 431}) == std::int64_t{19417} * 1105920 + 431 * 256);
  CHECK_NOTHROW(Layout({{"x", 2, largest}}));
  CHECK_THROWS_AS(Layout({{"x", 2, largest}}, 1), InputError);
  CHECK_THROWS_AS(Layout({{"x", 3, largest}}), InputError);
  CHECK_NOTHROW(Layout({{"x", 1, largest}, {"y", 0, largest}}, largest));
  CHECK_THROWS_AS(Layout({{"x", largest, 0}, {"y", 2, 0}}).num_elements(), InputError);
}

TEST_CASE("law: a row-major layout is dense in the order given, whatever strides came in") {
  CHECK(row_major(std::vector<Axis>{{"x", 2, 99}, {"y", 3, 7}, {"z", 4}}, 5) ==
        Layout({{"x", 2, 12}, {"y", 3, 4}, {"z", 4, 1}}, 5));
  check_for_layouts("row major", [](const Layout& layout) {
    const std::vector<std::int64_t> offsets = offsets_of(row_major(layout.axes(), 3));
    for (std::size_t i = 0; i < offsets.size(); ++i)
      if (offsets[i] != static_cast<std::int64_t>(i) + 3) return false;
    return offsets.size() == indices_of(layout).size();
  });
}

TEST_CASE("edge: layouts print as shape, strides and the offset where there is one") {
  CHECK(to_string(pages) == "(block 2, token 3):(5, 1)");
  CHECK(to_string(Layout({{"block", 56, 30720}, {"kv", 2, 384}}, 6144)) == "(block 56, kv 2):(30720, 384) + 6144");
  CHECK(to_string(Layout({{"token", 3, 5}}, 1)) == "(token 3):(5) + 1");
  CHECK(to_string(Layout()) == "():()");
}

TEST_CASE("edge: axis names have 1 to 15 characters and compare by value") {
  CHECK_CONSTANT(AxisName("token") == AxisName(std::string_view("token")));
  CHECK_CONSTANT(AxisName("token") != AxisName("tokens") && AxisName("a") < AxisName("b"));
  CHECK_CONSTANT(AxisName("fifteen letters").view() == "fifteen letters");
  CHECK(AxisName().view().empty());
  CHECK_THROWS_AS(AxisName(""), std::logic_error);
  CHECK_THROWS_AS(AxisName("sixteen  letters"), std::logic_error);
}

}  // namespace
}  // namespace hybridkv
