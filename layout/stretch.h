#pragma once

#include <array>

#include "layout/layout.h"

namespace hybridkv {

/// The same elements with the positions of one axis `stride` apart: room for padding, or for what others put between.
/// Pre: the axis exists, its positions come no nearer to each other.
/// Example: stretch("(block 2, token 3):(3, 1)", "block", 5) is "(block 2, token 3):(5, 1)".
constexpr Layout stretch(const Layout& layout, AxisName axis, std::int64_t stride) {
  expects(layout.stride(axis) <= stride, "an axis is stretched, not shrunk");
  std::array<Axis, Layout::max_rank> axes{};
  for (int i = 0; i < layout.rank(); ++i) axes[static_cast<std::size_t>(i)] = layout[i];
  axes[static_cast<std::size_t>(layout.find(axis))].stride = stride;
  return Layout(std::span(axes.data(), layout.axes().size()), layout.offset());
}

}  // namespace hybridkv
