#pragma once

#include <vector>

#include "base/constexpr_vector.h"
#include "layout/layout.h"

namespace hybridkv {

/// The elements at one position of an axis: the axis disappears, its share goes into the offset.
/// Pre: the axis exists and 0 <= position < its extent.
/// Example: slice(pages, "block", 1) of "(block 2, token 3):(5, 1)" is "(token 3):(1) + 5".
HYBRIDKV_CONSTEXPR Layout slice(const Layout& layout, AxisName axis, std::int64_t position) {
  const Axis& fixed = layout.axis(axis);
  expects(position >= 0 && position < fixed.extent, "a slice lies inside its axis");
  std::vector<Axis> axes;
  for (const Axis& kept : layout.axes())
    if (kept.name != axis) axes.push_back(kept);
  return Layout(axes, layout.offset() + Checked(position) * fixed.stride);
}

/// The elements at positions first, first + 1, … of an axis, `count` of them; the axis stays.
/// Pre: the axis exists, first >= 0, count >= 0, first + count <= its extent.
/// Example: slice(pages, "token", 1, 2) of "(block 2, token 3):(5, 1)" is "(block 2, token 2):(5, 1) + 1".
HYBRIDKV_CONSTEXPR Layout slice(const Layout& layout, AxisName axis, std::int64_t first, std::int64_t count) {
  const Axis& cut = layout.axis(axis);
  expects(first >= 0 && count >= 0 && first <= cut.extent && count <= cut.extent - first,
          "a slice lies inside its axis");
  std::vector<Axis> axes(layout.axes().begin(), layout.axes().end());
  axes[static_cast<std::size_t>(layout.find(axis))].extent = count;
  // Past the last position nothing is left whose offset could matter.
  const std::int64_t steps = count == 0 ? 0 : first;
  return Layout(axes, layout.offset() + Checked(steps) * cut.stride);
}

}  // namespace hybridkv
