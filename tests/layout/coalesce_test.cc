#include "layout/coalesce.h"

#include "tests/layout/layout_cases.h"

namespace hybridkv {
namespace {

TEST_CASE("law: coalescing merges what can be merged, also as constant expressions") {
  CHECK_CONSTANT(coalesce(Layout({{"kv", 2, 100}, {"head", 1, 9}, {"token", 3, 4}, {"channel", 4, 1}})) ==
                 Layout({{"kv", 2, 100}, {"token", 12, 1}}));
  CHECK_CONSTANT(coalesce(Layout({{"x", 1, 5}, {"y", 1, 7}}, 4)) == Layout({}, 4));
  CHECK_CONSTANT(coalesce(Layout({{"x", 3, 5}, {"y", 0, 7}, {"z", 2, 1}}, 4)) == Layout({{"y", 0, 0}}, 4));
  CHECK_CONSTANT(coalesce(Layout({{"a", 2, 8}, {"b", 2, 4}, {"c", 2, 2}, {"d", 2, 1}})) == Layout({{"a", 16, 1}}));
}

TEST_CASE("law: the sequence of offsets stays, and no fewer axes could give it") {
  check_for_layouts("coalesce", [](const Layout& layout) {
    const Layout flat = coalesce(layout);
    if (offsets_of(flat) != offsets_of(layout) || flat.offset() != layout.offset()) return false;
    if (coalesce(flat) != flat) return false;
    for (const Axis& axis : flat.axes()) {
      if (layout.find(axis.name) < 0) return false;
      if (axis.extent == 1 || (axis.extent == 0 && flat.rank() != 1)) return false;
    }
    for (int i = 0; i + 1 < flat.rank(); ++i)
      if (flat[i].stride == flat[i + 1].stride * flat[i + 1].extent) return false;
    return true;
  });
}

/// Whether one stride runs through all offsets, which is what makes two axes mergeable.
bool has_one_stride(const std::vector<std::int64_t>& offsets) {
  for (std::size_t i = 2; i < offsets.size(); ++i)
    if (offsets[i] - offsets[i - 1] != offsets[1] - offsets[0]) return false;
  return true;
}

TEST_CASE("law: two axes merge exactly if one stride runs through both, and keep the offsets") {
  int num_merged = 0, num_refused = 0;
  check_for_layouts("merged axis", [&](const Layout& layout) {
    for (int i = 0; i + 1 < layout.rank(); ++i) {
      const std::vector<std::int64_t> offsets = offsets_of(Layout({layout[i], layout[i + 1]}));
      const std::optional<Axis> merged = merged_axis("merged", layout[i], layout[i + 1]);
      ++(merged ? num_merged : num_refused);
      if (merged.has_value() != has_one_stride(offsets)) return false;
      if (merged && offsets_of(Layout({*merged})) != offsets) return false;
    }
    return true;
  });
  CHECK(num_merged > 100);
  CHECK(num_refused > 100);
}

TEST_CASE("edge: extents near the end of 64 bits do not wrap into a merge") {
  constexpr std::int64_t big = std::int64_t{1} << 40;
  CHECK_FALSE(merged_axis("z", {"x", big, 0}, {"y", big, 1}));
  CHECK_THROWS_AS(merged_axis("z", {"x", big, 0}, {"y", big, 0}), InputError);
}

}  // namespace
}  // namespace hybridkv
