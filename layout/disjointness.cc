#include "layout/disjointness.h"

#include <algorithm>
#include <utility>

#include "layout/for_each_index.h"

namespace hybridkv {

namespace {

/// Elements of two layouts that share a byte; `first` and `second` of the overlap are left to the caller.
struct PairResult {
  Answer meets = Answer::no;
  Overlap overlap;
};

std::int64_t first_byte(const PlacedLayout& placed, const std::vector<std::int64_t>& index) {
  return placed.base_bytes + placed.layout.at(index) * placed.element_bytes;
}

PairResult meeting(const PlacedLayout& a, const PlacedLayout& b, std::vector<std::int64_t> a_index,
                   std::vector<std::int64_t> b_index) {
  const std::int64_t address = std::max(first_byte(a, a_index), first_byte(b, b_index));
  return {Answer::yes, {0, 0, std::move(a_index), std::move(b_index), address}};
}

/// Byte p of element i of `a` is byte q of element j of `b`:
///   base_a + w_a * (offset_a + sum(stride * i)) + p == base_b + w_b * (offset_b + sum(stride * j)) + q.
/// Counting j and q down from their ends puts every unknown on the left, with a positive coefficient.
PairResult find_meeting(const PlacedLayout& a, const PlacedLayout& b, std::int64_t max_nodes) {
  std::vector<BoundedTerm> terms;
  const auto add_axes = [&](const PlacedLayout& placed) {
    for (const Axis& axis : placed.layout.axes())
      terms.push_back({axis.extent > 1 ? Checked(axis.stride) * placed.element_bytes : Checked(0), axis.extent - 1});
  };
  add_axes(a);
  add_axes(b);
  terms.push_back({1, a.element_bytes - 1});
  terms.push_back({1, b.element_bytes - 1});
  const BoundedSum sum = find_bounded_sum(terms, byte_extent(b).end - 1 - byte_extent(a).begin, max_nodes);
  if (sum.reachable != Answer::yes) return {sum.reachable, {}};
  const auto split_point = sum.x.begin() + a.layout.rank();
  std::vector<std::int64_t> b_index(split_point, split_point + b.layout.rank());
  for (int i = 0; i < b.layout.rank(); ++i) {
    std::int64_t& position = b_index[static_cast<std::size_t>(i)];
    position = b.layout[i].extent - 1 - position;
  }
  return meeting(a, b, {sum.x.begin(), split_point}, std::move(b_index));
}

/// First byte and place in the logical order of each element, by address.
std::vector<std::pair<std::int64_t, std::int64_t>> sorted_elements(const PlacedLayout& placed) {
  std::vector<std::pair<std::int64_t, std::int64_t>> elements;
  for_each_index(placed.layout, [&](auto, std::int64_t offset) {
    elements.emplace_back(placed.base_bytes + offset * placed.element_bytes,
                          static_cast<std::int64_t>(elements.size()));
  });
  std::sort(elements.begin(), elements.end());
  return elements;
}

/// Looks at every element of both. Pre: at most max_enumerated_indices each.
PairResult enumerate(const PlacedLayout& a, const PlacedLayout& b) {
  const auto a_elements = sorted_elements(a), b_elements = sorted_elements(b);
  auto candidate = b_elements.begin();
  for (const auto& [begin, number] : a_elements) {
    while (candidate != b_elements.end() && candidate->first + b.element_bytes <= begin) ++candidate;
    if (candidate == b_elements.end()) break;
    if (candidate->first < begin + a.element_bytes)
      return meeting(a, b, index_at(a.layout, number), index_at(b.layout, candidate->second));
  }
  return {};
}

PairResult compare(const PlacedLayout& a, const PlacedLayout& b, std::int64_t max_nodes) {
  const ByteExtent a_bytes = byte_extent(a), b_bytes = byte_extent(b);
  if (a_bytes.end <= b_bytes.begin || b_bytes.end <= a_bytes.begin) return {};
  if (a_bytes.begin == a_bytes.end || b_bytes.begin == b_bytes.end) return {};
  const PairResult result = find_meeting(a, b, max_nodes);
  if (result.meets != Answer::unknown) return result;
  if (has_at_most(a.layout, max_enumerated_indices) && has_at_most(b.layout, max_enumerated_indices))
    return enumerate(a, b);
  return result;
}

}  // namespace

Disjointness check_disjoint(std::span<const PlacedLayout> layouts, std::int64_t max_nodes) {
  Disjointness result;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    for (std::size_t j = i + 1; j < layouts.size(); ++j) {
      PairResult pair = compare(layouts[i], layouts[j], max_nodes);
      if (pair.meets == Answer::unknown) result.answer = Answer::unknown;
      if (pair.meets != Answer::yes) continue;
      pair.overlap.first = i;
      pair.overlap.second = j;
      return {Answer::no, std::move(pair.overlap)};
    }
  }
  return result;
}

}  // namespace hybridkv
