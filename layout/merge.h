#pragma once

#include <optional>
#include <vector>

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

/// Replaces two axes by one: position (p, q) becomes p * (extent of inner) + q. Every element keeps its place in
/// the logical order. Nothing where the strides do not allow it (see `merged_axis`).
/// Pre: both axes exist, `inner` directly follows `outer` (see permute.h), the new name is not taken.
/// Example: "(kernel 2, token 3):(12, 4)" becomes "(token 6):(4)".
constexpr std::optional<Layout> merge(const Layout& layout, AxisName outer, AxisName inner, AxisName merged) {
  const int position = layout.find(outer);
  expects(position >= 0 && layout.find(inner) == position + 1, "merged axes follow each other");
  const std::optional<Axis> axis = merged_axis(merged, layout[position], layout[position + 1]);
  if (!axis) return std::nullopt;
  std::vector<Axis> axes(layout.axes().begin(), layout.axes().end());
  axes.erase(axes.begin() + position);
  axes[static_cast<std::size_t>(position)] = *axis;
  return Layout(axes, layout.offset());
}

}  // namespace hybridkv
