#pragma once

#include <algorithm>
#include <vector>

#include "layout/coalesce.h"
#include "layout/layout.h"

namespace hybridkv {

/// Whether the elements in logical order are neighbours in memory: offset, offset + 1, offset + 2, … .
/// True for a layout without elements.
constexpr bool is_contiguous(const Layout& layout) {
  const Layout flat = coalesce(layout);
  return flat.rank() == 0 || (flat.rank() == 1 && (flat[0].extent == 0 || flat[0].stride == 1));
}

/// Whether the elements fill one gapless stretch of memory, each place once, in whatever order: some permutation
/// of the axes is contiguous. True for a layout without elements.
constexpr bool is_dense(const Layout& layout) {
  std::vector<Axis> axes(layout.axes().begin(), layout.axes().end());
  std::erase_if(axes, [](const Axis& axis) { return axis.extent == 1; });
  std::sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  return is_contiguous(Layout(axes, layout.offset()));
}

}  // namespace hybridkv
