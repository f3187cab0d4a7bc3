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

}  // namespace
}  // namespace hybridkv
