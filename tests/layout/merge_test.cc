#include "layout/merge.h"

#include <stdexcept>

#include "tests/layout/layout_cases.h"

namespace hybridkv {
namespace {

constexpr Layout split_pages({{"block", 2, 40}, {"kernel", 2, 12}, {"token", 3, 4}}, 3);

TEST_CASE("law: axes that continue each other merge into one, also as constant expressions") {
  CHECK_CONSTANT(merge(split_pages, "kernel", "token", "token") ==
                 Layout({{"block", 2, 40}, {"token", 6, 4}}, 3));
  CHECK_CONSTANT(!merge(split_pages, "block", "kernel", "block"));
  CHECK_CONSTANT(merge(Layout({{"x", 1, 99}, {"y", 3, 2}}), "x", "y", "z") == Layout({{"z", 3, 2}}));
  CHECK_CONSTANT(merge(Layout({{"x", 3, 2}, {"y", 1, 99}}), "x", "y", "z") == Layout({{"z", 3, 2}}));
  CHECK_CONSTANT(merge(Layout({{"x", 3, 0}, {"y", 4, 0}}), "x", "y", "z") == Layout({{"z", 12, 0}}));
}

/// Whether one stride runs through all offsets, which is what makes two axes mergeable.
bool has_one_stride(const std::vector<std::int64_t>& offsets) {
  for (std::size_t i = 2; i < offsets.size(); ++i)
    if (offsets[i] - offsets[i - 1] != offsets[1] - offsets[0]) return false;
  return true;
}

TEST_CASE("law: neighbours merge exactly if one stride runs through both, and keep the offsets") {
  int num_merged = 0, num_refused = 0;
  check_for_layouts("merge", [&](const Layout& layout) {
    for (int i = 0; i + 1 < layout.rank(); ++i) {
      const auto merged = merge(layout, layout[i].name, layout[i + 1].name, "merged");
      ++(merged ? num_merged : num_refused);
      if (merged.has_value() != has_one_stride(offsets_of(Layout({layout[i], layout[i + 1]})))) return false;
      if (merged && (merged->rank() != layout.rank() - 1 || offsets_of(*merged) != offsets_of(layout))) return false;
    }
    return true;
  });
  CHECK(num_merged > 100);
  CHECK(num_refused > 100);
}

TEST_CASE("edge: extents near the end of 64 bits do not wrap into a merge") {
  constexpr std::int64_t big = std::int64_t{1} << 40;
  CHECK_FALSE(merge(Layout({{"x", big, 0}, {"y", big, 1}}), "x", "y", "z"));
  CHECK_THROWS_AS(merge(Layout({{"x", big, 0}, {"y", big, 0}}), "x", "y", "z"), InputError);
}

TEST_CASE("edge: axes that do not follow each other, unknown axes and taken names are refused") {
  CHECK_THROWS_AS(merge(split_pages, "token", "kernel", "x"), std::logic_error);
  CHECK_THROWS_AS(merge(split_pages, "block", "token", "x"), std::logic_error);
  CHECK_THROWS_AS(merge(split_pages, "head", "block", "x"), std::logic_error);
  CHECK_THROWS_AS(merge(split_pages, "kernel", "token", "block"), std::logic_error);
}

}  // namespace
}  // namespace hybridkv
