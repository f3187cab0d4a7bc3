#pragma once

#include <span>
#include <utility>
#include <vector>

#include "base/constexpr_vector.h"
#include "layout/layout.h"

namespace hybridkv {

/// Calls visit(index, offset) for every index in logical order, the last axis fastest.
/// `index` is a span of one position per axis, valid during the call only.
template <class Visit>
HYBRIDKV_CONSTEXPR void for_each_index(const Layout& layout, Visit&& visit) {
  for (const Axis& axis : layout.axes())
    if (axis.extent == 0) return;
  std::vector<std::int64_t> index(static_cast<std::size_t>(layout.rank()), 0);
  std::int64_t offset = layout.offset();
  while (true) {
    visit(std::span<const std::int64_t>(index), std::as_const(offset));
    int position = layout.rank() - 1;
    for (; position >= 0; --position) {
      const Axis& axis = layout[position];
      std::int64_t& at = index[static_cast<std::size_t>(position)];
      if (++at < axis.extent) {
        offset += axis.stride;
        break;
      }
      offset -= (axis.extent - 1) * axis.stride;
      at = 0;
    }
    if (position < 0) return;
  }
}

/// Whether a layout has at most `limit` indices; never overflows, unlike num_elements().
constexpr bool has_at_most(const Layout& layout, std::int64_t limit) {
  bool is_more = limit < 1;
  std::int64_t count = 1;
  for (const Axis& axis : layout.axes()) {
    if (axis.extent == 0) return limit >= 0;
    if (count > limit / axis.extent) is_more = true;
    else count *= axis.extent;
  }
  return !is_more;
}

/// The index that comes at place `number` of the logical order. Pre: 0 <= number < num_elements().
HYBRIDKV_CONSTEXPR std::vector<std::int64_t> index_at(const Layout& layout, std::int64_t number) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(layout.rank()));
  for (int position = layout.rank() - 1; position >= 0; --position) {
    index[static_cast<std::size_t>(position)] = number % layout[position].extent;
    number /= layout[position].extent;
  }
  return index;
}

}  // namespace hybridkv
