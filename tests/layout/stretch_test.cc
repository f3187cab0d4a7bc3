#include "layout/stretch.h"

#include <stdexcept>

#include "layout/for_each_index.h"
#include "tests/layout/layout_cases.h"

namespace hybridkv {
namespace {

constexpr Layout stretched_pages({{"block", 2, 3}, {"token", 3, 1}}, 4);

TEST_CASE("law: only the stride of that axis grows, also as constant expressions") {
  CHECK_CONSTANT(stretch(stretched_pages, "block", 5) == Layout({{"block", 2, 5}, {"token", 3, 1}}, 4));
  CHECK_CONSTANT(stretch(stretched_pages, "block", 3) == stretched_pages);
}

TEST_CASE("law: an element moves by its position along the axis times what the stride grew by") {
  check_for_layouts("stretch", [](const Layout& layout) {
    for (const Axis& axis : layout.axes()) {
      const Layout wide = stretch(layout, axis.name, axis.stride + 7);
      std::vector<std::int64_t> moved;
      for_each_index(layout, [&](std::span<const std::int64_t> index, std::int64_t offset) {
        moved.push_back(offset + 7 * index[static_cast<std::size_t>(layout.find(axis.name))]);
      });
      if (offsets_of(wide) != moved) return false;
    }
    return true;
  });
}

TEST_CASE("edge: an axis that is not there, or that would shrink, is refused") {
  CHECK_THROWS_AS(stretch(stretched_pages, "head", 5), std::logic_error);
  CHECK_THROWS_AS(stretch(stretched_pages, "block", 2), std::logic_error);
}

}  // namespace
}  // namespace hybridkv
