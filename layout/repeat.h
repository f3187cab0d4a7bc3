#pragma once

#include <array>

#include "layout/layout.h"

namespace hybridkv {

/// The layout again and again along a new outermost axis: one for each page, at the distance of pages.
/// Pre: the name is not taken.
/// Example: repeat("(token 3):(1) + 2", {"block", 2, 5}) is "(block 2, token 3):(5, 1) + 2".
constexpr Layout repeat(const Layout& layout, const Axis& outermost) {
  expects(layout.rank() < Layout::max_rank, "a layout has at most 8 axes");
  std::array<Axis, Layout::max_rank> axes{outermost};
  for (int i = 0; i < layout.rank(); ++i) axes[static_cast<std::size_t>(i) + 1] = layout[i];
  return Layout(std::span(axes.data(), layout.axes().size() + 1), layout.offset());
}

}  // namespace hybridkv
