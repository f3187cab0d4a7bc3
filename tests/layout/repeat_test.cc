#include "layout/repeat.h"

#include <stdexcept>

#include "layout/slice.h"
#include "tests/layout/layout_cases.h"

namespace hybridkv {
namespace {

constexpr Layout row({{"token", 3, 1}}, 2);

TEST_CASE("law: a repeated layout steps from page to page, also as constant expressions") {
  CHECK_CONSTANT(repeat(row, {"block", 2, 5}) == Layout({{"block", 2, 5}, {"token", 3, 1}}, 2));
  CHECK_CONSTANT(repeat(Layout(), {"block", 2, 5}) == Layout({{"block", 2, 5}}));
}

TEST_CASE("law: each position of the new axis is the layout again, so many strides further on") {
  check_for_layouts("repeat", [](const Layout& layout) {
    if (layout.rank() == Layout::max_rank) return true;
    const Layout repeated = repeat(layout, {"page", 3, 1000});
    for (std::int64_t page = 0; page < 3; ++page)
      if (slice(repeated, "page", page) != Layout(layout.axes(), layout.offset() + page * 1000)) return false;
    return true;
  });
}

TEST_CASE("edge: a taken name is refused") { CHECK_THROWS_AS(repeat(row, {"token", 2, 5}), std::logic_error); }

}  // namespace
}  // namespace hybridkv
