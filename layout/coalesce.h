#pragma once

#include <vector>

#include "layout/layout.h"
#include "layout/merge.h"

namespace hybridkv {

/// The layout with fewest axes that has the same offsets in the same logical order: axes of extent 1 go, and
/// neighbours merge wherever their strides allow. A merged axis keeps the name of its outermost part. A layout
/// without elements becomes one axis of extent 0. Named after CuTe's coalesce.
/// Example: "(kv 2, head 1, token 3, channel 4):(100, 9, 4, 1)" becomes "(kv 2, token 12):(100, 1)".
constexpr Layout coalesce(const Layout& layout) {
  std::vector<Axis> axes;
  for (const Axis& axis : layout.axes()) {
    if (axis.extent == 0) return Layout({{axis.name, 0, 0}}, layout.offset());
    if (axis.extent == 1) continue;
    const auto merged = axes.empty() ? std::nullopt : merged_axis(axes.back().name, axes.back(), axis);
    if (merged) axes.back() = *merged;
    else axes.push_back(axis);
  }
  return Layout(axes, layout.offset());
}

}  // namespace hybridkv
