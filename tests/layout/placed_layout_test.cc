#include "layout/placed_layout.h"

#include "tests/layout/layout_cases.h"

namespace hybridkv {
namespace {

TEST_CASE("law: the extent runs from the first byte of the lowest element to the last of the highest") {
  CHECK_CONSTANT(byte_extent({Layout({{"x", 3, 4}}, 2), 2, 100}) == ByteExtent{104, 122});
  CHECK_CONSTANT(byte_extent({Layout({{"x", 0, 4}}, 2), 2, 100}) == ByteExtent{100, 100});
  check_for_layouts("byte extent", [](const Layout& layout) {
    for (const std::int64_t width : {1, 2, 4, 6}) {
      const std::vector<std::int64_t> offsets = sorted_offsets_of(layout);
      const ByteExtent expected = offsets.empty()
                                      ? ByteExtent{11, 11}
                                      : ByteExtent{11 + offsets.front() * width, 11 + (offsets.back() + 1) * width};
      if (byte_extent({layout, width, 11}) != expected) return false;
      if (!contains(expected.end, {layout, width, 11})) return false;
      if (!offsets.empty() && contains(expected.end - 1, {layout, width, 11})) return false;
    }
    return true;
  });
}

TEST_CASE("edge: what has no element lies in any pool") {
  CHECK_CONSTANT(contains(0, {Layout({{"x", 0, 4}}, 2), 2, 100}));
}

TEST_CASE("edge: no element bytes, a base before the pool and addresses past 64 bits are refused") {
  CHECK_THROWS_AS(byte_extent({Layout(), 0, 0}), std::logic_error);
  CHECK_THROWS_AS(byte_extent({Layout(), 1, -1}), std::logic_error);
  CHECK_THROWS_AS(byte_extent({Layout({{"x", 2, std::int64_t{1} << 61}}), 4, 0}), InputError);
}

}  // namespace
}  // namespace hybridkv
