#pragma once

#include <array>
#include <optional>

#include "layout/layout.h"

namespace hybridkv {

/// The same indices in a unit of which `factor` make one of the old: elements of 4 bytes as bytes by 4.
/// Pre: factor > 0. Throws InputError where a stride or the offset does not fit 64 bits.
/// Example: scale("(block 2, token 3):(5, 1) + 1", 4) is "(block 2, token 3):(20, 4) + 4".
constexpr Layout scale(const Layout& layout, std::int64_t factor) {
  expects(factor > 0, "a unit is made of at least one other");
  std::array<Axis, Layout::max_rank> axes{};
  for (int i = 0; i < layout.rank(); ++i) {
    axes[static_cast<std::size_t>(i)] = layout[i];
    axes[static_cast<std::size_t>(i)].stride = Checked(layout[i].stride) * factor;
  }
  return Layout(std::span(axes.data(), layout.axes().size()), Checked(layout.offset()) * factor);
}

/// The other way round: bytes as elements. Nothing where a stride or the offset is no multiple of the unit.
/// Pre: factor > 0. Example: unscale("(token 3):(4) + 8", 4) is "(token 3):(1) + 2", by 8 there is none.
constexpr std::optional<Layout> unscale(const Layout& layout, std::int64_t factor) {
  expects(factor > 0, "a unit is made of at least one other");
  if (layout.offset() % factor != 0) return std::nullopt;
  std::array<Axis, Layout::max_rank> axes{};
  for (int i = 0; i < layout.rank(); ++i) {
    if (layout[i].stride % factor != 0) return std::nullopt;
    axes[static_cast<std::size_t>(i)] = layout[i];
    axes[static_cast<std::size_t>(i)].stride = layout[i].stride / factor;
  }
  return Layout(std::span(axes.data(), layout.axes().size()), layout.offset() / factor);
}

}  // namespace hybridkv
