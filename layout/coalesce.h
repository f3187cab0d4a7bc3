#pragma once

#include <optional>
#include <vector>

#include "base/constexpr_vector.h"
#include "layout/layout.h"

namespace hybridkv {

/// One axis that runs through two in order, inner fastest; nothing where no single stride does that: the outer
/// one has to step over exactly what the inner one covers, unless one of them has fewer than two positions.
constexpr std::optional<Axis> merged_axis(AxisName name, const Axis& outer, const Axis& inner) {
  if (outer.extent == 0 || inner.extent == 0) return Axis{name, 0, inner.stride};
  if (outer.extent == 1) return Axis{name, inner.extent, inner.stride};
  if (inner.extent == 1) return Axis{name, outer.extent, outer.stride};
  // No overflow: the extents are at least 2, and inner.extent - 1 strides fit by the layout's invariant.
  if (outer.stride - inner.stride != (inner.extent - 1) * inner.stride) return std::nullopt;
  return Axis{name, Checked(outer.extent) * inner.extent, inner.stride};
}

/// The layout with fewest axes that has the same offsets in the same logical order: axes of extent 1 go, and
/// neighbours merge wherever their strides allow. A merged axis keeps the name of its outermost part. A layout
/// without elements becomes one axis of extent 0. Named after CuTe's coalesce.
/// Example: "(kv 2, head 1, token 3, channel 4):(100, 9, 4, 1)" becomes "(kv 2, token 12):(100, 1)".
HYBRIDKV_CONSTEXPR Layout coalesce(const Layout& layout) {
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
