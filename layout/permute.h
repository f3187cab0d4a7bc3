#pragma once

#include <array>
#include <initializer_list>
#include <span>

#include "layout/layout.h"

namespace hybridkv {

/// The same elements with the axes in another logical order; strides and offset stay with their axes.
/// Pre: `order` names every axis exactly once.
/// Example: permute(pages, {"token", "block"}) of "(block 2, token 3):(5, 1)" is "(token 3, block 2):(1, 5)".
constexpr Layout permute(const Layout& layout, std::span<const AxisName> order) {
  expects(order.size() == static_cast<std::size_t>(layout.rank()), "a permutation names every axis once");
  std::array<Axis, Layout::max_rank> axes{};
  for (std::size_t i = 0; i < order.size(); ++i) axes[i] = layout.axis(order[i]);
  return Layout(std::span(axes.data(), order.size()), layout.offset());
}
constexpr Layout permute(const Layout& layout, std::initializer_list<AxisName> order) {
  return permute(layout, std::span<const AxisName>(order.begin(), order.size()));
}

}  // namespace hybridkv
