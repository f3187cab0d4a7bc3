#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "layout/layout.h"

namespace hybridkv {

/// The same elements with the axes in another logical order; strides and offset stay with their axes.
/// Pre: `order` names every axis exactly once.
/// Example: permute(pages, {"token", "block"}) of "(block 2, token 3):(5, 1)" is "(token 3, block 2):(1, 5)".
constexpr Layout permute(const Layout& layout, std::span<const AxisName> order) {
  expects(order.size() == static_cast<std::size_t>(layout.rank()), "a permutation names every axis once");
  std::vector<Axis> axes;
  for (const AxisName& name : order) axes.push_back(layout.axis(name));
  return Layout(axes, layout.offset());
}
constexpr Layout permute(const Layout& layout, std::initializer_list<AxisName> order) {
  return permute(layout, std::span<const AxisName>(order.begin(), order.size()));
}

}  // namespace hybridkv
