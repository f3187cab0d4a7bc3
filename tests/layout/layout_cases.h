#pragma once

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "layout/layout.h"

/// Checks an expression when compiling and again when running.
#define CHECK_CONSTANT(...)     \
  do {                          \
    static_assert(__VA_ARGS__); \
    CHECK((__VA_ARGS__));       \
  } while (false)

namespace hybridkv {

/// Layouts every operation has to hold for: real ones in small, and the odd ones.
inline const std::vector<Layout>& layout_table() {
  static const std::vector<Layout> table{
      Layout{},
      Layout({}, 7),
      Layout({{"x", 1, 5}}),
      Layout({{"x", 0, 3}}),
      Layout({{"x", 6, 1}}),
      Layout({{"x", 6, 4}}, 2),
      Layout({{"x", 5, 0}}),
      Layout({{"block", 2, 5}, {"token", 3, 1}}),
      Layout({{"block", 3, 0}, {"token", 0, 1}, {"head", 4, 2}}, 1),
      // Paged attention: NHD, HND, K/V first, a layer of a pack, a padded page, kernel blocks of a page.
      Layout({{"block", 3, 48}, {"kv", 2, 24}, {"token", 4, 6}, {"head", 2, 3}, {"channel", 3, 1}}),
      Layout({{"block", 3, 48}, {"kv", 2, 24}, {"token", 4, 3}, {"head", 2, 12}, {"channel", 3, 1}}),
      Layout({{"kv", 2, 24}, {"block", 3, 48}, {"token", 4, 6}, {"head", 2, 3}, {"channel", 3, 1}}),
      Layout({{"block", 3, 144}, {"kv", 2, 24}, {"token", 4, 6}, {"head", 2, 3}, {"channel", 3, 1}}, 48),
      Layout({{"block", 3, 50}, {"kv", 2, 24}, {"token", 4, 6}, {"head", 1, 6}, {"channel", 6, 1}}),
      Layout({{"block", 2, 16}, {"kernel", 2, 8}, {"token", 2, 4}, {"channel", 4, 1}}),
      // A state in a page, and axes that overlap, repeat, or tile only together.
      Layout({{"block", 3, 40}, {"head", 2, 12}, {"value", 3, 4}, {"key", 4, 1}}, 9),
      Layout({{"x", 3, 2}, {"y", 4, 1}}),
      Layout({{"x", 3, 7}, {"y", 3, 7}}),
      Layout({{"x", 2, 3}, {"y", 3, 2}}),
      Layout({{"x", 3, 3}, {"y", 4, 2}}),
      Layout({{"a", 2, 1}, {"b", 2, 2}, {"c", 2, 4}, {"d", 2, 8}, {"e", 1, 3}, {"f", 2, 16}, {"g", 1, 0}, {"h", 2, 9}}),
  };
  return table;
}

/// A layout of up to 5 axes and some hundred indices. Half are dense in some order up to padding here and there,
/// half have strides by chance, so checks of overlap answer both ways often.
inline rc::Gen<Layout> any_layout() {
  return rc::gen::exec([] {
    const auto rank = *rc::gen::inRange<std::size_t>(0, 6);
    std::vector<std::int64_t> extents(rank), strides(rank);
    std::vector<std::size_t> order(rank);
    for (std::size_t i = 0; i < rank; ++i) {
      extents[i] = *rc::gen::weightedElement<std::int64_t>({{1, 0}, {8, 1}, {20, 2}, {20, 3}, {10, 4}, {5, 6}});
      const auto place = *rc::gen::inRange<std::size_t>(0, i + 1);
      order[i] = order[place];
      order[place] = i;
    }
    const bool is_tiled = *rc::gen::arbitrary<bool>();
    std::int64_t stride = 1;
    for (const std::size_t i : order) {
      strides[i] = is_tiled ? stride : *rc::gen::inRange<std::int64_t>(0, 30);
      const auto padding = *rc::gen::weightedElement<std::int64_t>({{12, 0}, {1, 1}, {1, 5}, {1, -1}});
      stride = std::max<std::int64_t>(0, stride * std::max<std::int64_t>(1, extents[i]) + padding);
    }
    std::vector<Axis> axes;
    static constexpr const char* names[] = {"a", "b", "c", "d", "e"};
    for (std::size_t i = 0; i < rank; ++i) axes.push_back({names[i], extents[i], strides[i]});
    return Layout(axes, *rc::gen::inRange<std::int64_t>(0, 9));
  });
}

/// Every index in logical order, written out by nested counting.
inline std::vector<std::vector<std::int64_t>> indices_of(const Layout& layout) {
  std::vector<std::vector<std::int64_t>> indices{{}};
  for (const Axis& axis : layout.axes()) {
    std::vector<std::vector<std::int64_t>> longer;
    for (const auto& index : indices)
      for (std::int64_t position = 0; position < axis.extent; ++position) {
        longer.push_back(index);
        longer.back().push_back(position);
      }
    indices = std::move(longer);
  }
  return indices;
}

/// The offset of every index in logical order.
inline std::vector<std::int64_t> offsets_of(const Layout& layout) {
  std::vector<std::int64_t> offsets;
  for (const auto& index : indices_of(layout)) offsets.push_back(layout.at(index));
  return offsets;
}

inline std::vector<std::int64_t> sorted_offsets_of(const Layout& layout) {
  std::vector<std::int64_t> offsets = offsets_of(layout);
  std::sort(offsets.begin(), offsets.end());
  return offsets;
}

/// Runs a check of one layout (returning whether it holds) over the table and over random layouts.
template <class Holds>
void check_for_layouts(const char* what, const Holds& holds) {
  for (const Layout& layout : layout_table()) {
    CAPTURE(to_string(layout));
    CHECK(holds(layout));
  }
  CHECK(rc::check(what, [&] {
    for (int repetition = 0; repetition < 10; ++repetition) {
      const Layout layout = *rc::gen::resize(rc::kNominalSize, any_layout());
      RC_LOG() << to_string(layout) << "\n";
      RC_ASSERT(holds(layout));
    }
  }));
}

}  // namespace hybridkv

namespace rc {
inline void showValue(const hybridkv::Layout& layout, std::ostream& out) { out << hybridkv::to_string(layout); }
}  // namespace rc
