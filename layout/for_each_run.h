#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layout/coalesce.h"
#include "layout/for_each_index.h"

namespace hybridkv {

/// Calls visit(offset, count) for every stretch of `count` neighbouring elements of a layout, which together are all of
/// its elements in logical order. As long as merging axes makes them: a dense layout is a single one.
/// Example: "(block 2, token 3):(5, 1)" visits (0, 3) and (5, 3).
template <class Visit>
constexpr void for_each_run(const Layout& layout, Visit&& visit) {
  const Layout merged = coalesce(layout);
  const std::span<const Axis> axes = merged.axes();
  if (axes.empty() || axes.back().stride != 1) {
    for_each_index(merged, [&](std::span<const std::int64_t>, std::int64_t offset) { visit(offset, std::int64_t{1}); });
    return;
  }
  const std::int64_t count = axes.back().extent;
  if (count == 0) return;
  for_each_index(Layout(axes.first(axes.size() - 1), merged.offset()),
                 [&](std::span<const std::int64_t>, std::int64_t offset) { visit(offset, count); });
}

}  // namespace hybridkv
