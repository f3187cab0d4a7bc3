#include "layout/injectivity.h"

#include <algorithm>
#include <utility>

#include "layout/for_each_index.h"

namespace hybridkv {

namespace {

/// Looks at every index. Pre: at most max_enumerated_indices of them.
Injectivity enumerate(const Layout& layout) {
  std::vector<std::pair<std::int64_t, std::int64_t>> numbers_by_offset;
  for_each_index(layout, [&](auto, std::int64_t offset) {
    numbers_by_offset.emplace_back(offset, static_cast<std::int64_t>(numbers_by_offset.size()));
  });
  std::sort(numbers_by_offset.begin(), numbers_by_offset.end());
  const auto twice = std::adjacent_find(numbers_by_offset.begin(), numbers_by_offset.end(),
                                        [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice == numbers_by_offset.end()) return {};
  return {Answer::no,
          Collision{index_at(layout, twice->second), index_at(layout, std::next(twice)->second), twice->first}};
}

/// Two different indices meet if their differences d, |d| < extent, give sum(stride * d) == 0. Of the axes in which
/// they differ, `positions[last]` has the largest stride and (swap the two) d >= 1. With d = x - (extent - 1) for the
/// axes before it and d = x + 1 for itself, all x start at 0.
BoundedSum find_differences(const Layout& layout, const std::vector<int>& positions, std::size_t last,
                            std::int64_t max_nodes) {
  std::vector<BoundedTerm> terms;
  Checked target = 0;
  for (std::size_t i = 0; i < last; ++i) {
    const Axis& axis = layout[positions[i]];
    terms.push_back({axis.stride, Checked(axis.extent - 1) * 2});
    target += Checked(axis.extent - 1) * axis.stride;
  }
  const Axis& axis = layout[positions[last]];
  terms.push_back({axis.stride, axis.extent - 2});
  return find_bounded_sum(terms, target - axis.stride, max_nodes);
}

/// The two indices of a solution of `find_differences`.
Collision collision_of(const Layout& layout, const std::vector<int>& positions, const std::vector<std::int64_t>& x) {
  Collision collision;
  collision.first.resize(static_cast<std::size_t>(layout.rank()));
  collision.second = collision.first;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool is_last = i + 1 == x.size();
    const std::int64_t difference = is_last ? x[i] + 1 : x[i] - (layout[positions[i]].extent - 1);
    const auto axis = static_cast<std::size_t>(positions[i]);
    (difference > 0 ? collision.second : collision.first)[axis] = std::abs(difference);
  }
  collision.offset = layout.at(collision.first);
  return collision;
}

}  // namespace

Injectivity check_injective(const Layout& layout, std::int64_t max_nodes) {
  std::vector<int> positions;
  for (int i = 0; i < layout.rank(); ++i) {
    if (layout[i].extent == 0) return {};
    if (layout[i].extent > 1) positions.push_back(i);
  }
  std::stable_sort(positions.begin(), positions.end(),
                   [&](int a, int b) { return layout[a].stride < layout[b].stride; });
  bool is_known = true;
  for (std::size_t last = 0; last < positions.size(); ++last) {
    const BoundedSum differences = find_differences(layout, positions, last, max_nodes);
    if (differences.reachable == Answer::yes)
      return {Answer::no, collision_of(layout, positions, differences.x)};
    is_known = is_known && differences.reachable == Answer::no;
  }
  if (is_known) return {};
  if (has_at_most(layout, max_enumerated_indices)) return enumerate(layout);
  return {Answer::unknown, std::nullopt};
}

Answer is_injective(const Layout& layout) { return check_injective(layout).answer; }

}  // namespace hybridkv
