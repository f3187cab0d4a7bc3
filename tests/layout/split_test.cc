#include "layout/split.h"

#include <limits>
#include <stdexcept>

#include "layout/coalesce.h"
#include "tests/layout/layout_cases.h"

namespace hybridkv {
namespace {

constexpr Layout split_pages({{"block", 2, 40}, {"token", 6, 4}}, 3);

TEST_CASE("law: splitting an axis gives outer and inner positions, also as constant expressions") {
  CHECK_CONSTANT(split(split_pages, "token", "kernel", "token", 3) ==
                 Layout({{"block", 2, 40}, {"kernel", 2, 12}, {"token", 3, 4}}, 3));
  CHECK_CONSTANT(split(split_pages, "token", "kernel", "token", 6).stride("kernel") == 0);
}

TEST_CASE("law: a split keeps every offset in its place, and merging undoes it") {
  check_for_layouts("split and merge", [](const Layout& layout) {
    if (layout.rank() == Layout::max_rank) return true;
    for (const Axis& axis : layout.axes())
      for (std::int64_t inner = 1; inner <= std::max<std::int64_t>(1, axis.extent); ++inner) {
        if (axis.extent % inner != 0) continue;
        const Layout parts = split(layout, axis.name, "outer", "inner", inner);
        if (parts.rank() != layout.rank() + 1 || offsets_of(parts) != offsets_of(layout)) return false;
        if (merged_axis(axis.name, parts.axis("outer"), parts.axis("inner")) != axis) return false;
      }
    return true;
  });
}

TEST_CASE("edge: a stride that no position takes may not fit 64 bits") {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  CHECK(split(Layout({{"x", 2, largest}}), "x", "y", "z", 2) == Layout({{"y", 1, 0}, {"z", 2, largest}}));
}

TEST_CASE("edge: parts that do not divide, unknown axes and taken names are refused") {
  CHECK_THROWS_AS(split(split_pages, "token", "kernel", "token", 4), std::logic_error);
  CHECK_THROWS_AS(split(split_pages, "token", "kernel", "token", 0), std::logic_error);
  CHECK_THROWS_AS(split(split_pages, "head", "a", "b", 1), std::logic_error);
  CHECK_THROWS_AS(split(split_pages, "token", "block", "token", 3), std::logic_error);
  CHECK_THROWS_AS(split(split_pages, "token", "same", "same", 3), std::logic_error);
}

}  // namespace
}  // namespace hybridkv
