#include "layout/scale.h"

#include <stdexcept>

#include "layout/shift.h"
#include "tests/layout/layout_cases.h"

namespace hybridkv {
namespace {

constexpr Layout scaled_pages({{"block", 2, 5}, {"token", 3, 1}}, 1);

TEST_CASE("law: elements as bytes and back, also as constant expressions") {
  CHECK_CONSTANT(scale(scaled_pages, 4) == Layout({{"block", 2, 20}, {"token", 3, 4}}, 4));
  CHECK_CONSTANT(unscale(scale(scaled_pages, 4), 4) == scaled_pages);
  CHECK_CONSTANT(unscale(scale(scaled_pages, 4), 2) == scale(scaled_pages, 2));
}

TEST_CASE("law: every offset is so many times as large, and unscaling undoes it") {
  check_for_layouts("scale", [](const Layout& layout) {
    std::vector<std::int64_t> offsets = offsets_of(layout);
    for (std::int64_t& offset : offsets) offset *= 3;
    return offsets_of(scale(layout, 3)) == offsets && unscale(scale(layout, 3), 3) == layout;
  });
}

TEST_CASE("edge: what lies off a whole element has no layout in elements") {
  CHECK_CONSTANT(!unscale(Layout({{"token", 3, 4}}, 6), 4));
  CHECK_CONSTANT(!unscale(Layout({{"block", 2, 6}, {"token", 1, 4}}), 4));
}

TEST_CASE("edge: no unit is nothing, and no byte lies past 64 bits") {
  constexpr std::int64_t big = std::int64_t{1} << 62;
  CHECK_THROWS_AS(scale(scaled_pages, 0), std::logic_error);
  CHECK_THROWS_AS(unscale(scaled_pages, 0), std::logic_error);
  CHECK_THROWS_AS(scale(Layout({{"x", 1, big}}), 4), InputError);
}

TEST_CASE("law: a shifted layout has every offset so much further on") {
  CHECK_CONSTANT(shift(scaled_pages, 10) == Layout(scaled_pages.axes(), 11));
  CHECK_CONSTANT(shift(scaled_pages, -1) == Layout(scaled_pages.axes()));
  CHECK_THROWS_AS(shift(scaled_pages, -2), std::logic_error);
}

}  // namespace
}  // namespace hybridkv
