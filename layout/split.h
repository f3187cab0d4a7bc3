#pragma once

#include <vector>

#include "base/constexpr_vector.h"
#include "layout/layout.h"

namespace hybridkv {

/// Replaces an axis by an outer and an inner one: position p becomes (p / inner_extent, p % inner_extent).
/// Every element keeps its place in the logical order.
/// Pre: the axis exists, inner_extent > 0 divides its extent, the new names are not taken.
/// Example: pages into kernel blocks: split("(token 6):(4)", "token", "kernel", "token", 3) is
/// "(kernel 2, token 3):(12, 4)".
HYBRIDKV_CONSTEXPR Layout split(const Layout& layout, AxisName axis, AxisName outer, AxisName inner,
                       std::int64_t inner_extent) {
  const Axis& whole = layout.axis(axis);
  expects(inner_extent > 0 && whole.extent % inner_extent == 0, "the inner extent of a split divides the axis");
  const std::int64_t outer_extent = whole.extent / inner_extent;
  // A stride that is never taken may not fit 64 bits.
  const std::int64_t outer_stride = outer_extent > 1 ? Checked(whole.stride) * inner_extent : Checked(0);
  std::vector<Axis> axes;
  for (const Axis& kept : layout.axes()) {
    if (kept.name != axis) {
      axes.push_back(kept);
    } else {
      axes.push_back({outer, outer_extent, outer_stride});
      axes.push_back({inner, inner_extent, whole.stride});
    }
  }
  return Layout(axes, layout.offset());
}

}  // namespace hybridkv
