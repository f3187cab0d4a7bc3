#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "base/checked.h"
#include "base/error.h"

namespace hybridkv {

/// Name of an axis: up to 15 characters, compared by value. Built from a literal: `AxisName("token")`.
class AxisName {
 public:
  static constexpr std::size_t max_length = 15;
  constexpr AxisName() = default;
  constexpr AxisName(const char* text) : AxisName(std::string_view(text)) {}
  constexpr AxisName(std::string_view text) {
    if (text.empty() || text.size() > max_length) throw std::logic_error("axis name must have 1 to 15 characters");
    for (std::size_t i = 0; i < text.size(); ++i) text_[i] = text[i];
  }
  constexpr std::string_view view() const { return std::string_view(text_.data()); }
  constexpr bool operator==(const AxisName&) const = default;
  // Not by default: not every library orders arrays.
  constexpr auto operator<=>(const AxisName& other) const { return view().compare(other.view()) <=> 0; }

 private:
  std::array<char, max_length + 1> text_{};
};

/// One axis of a layout: how many positions it has and how many elements apart they lie.
struct Axis {
  AxisName name;
  std::int64_t extent = 1;  ///< number of positions, >= 0
  std::int64_t stride = 0;  ///< distance of neighbours in elements, >= 0
  constexpr bool operator==(const Axis&) const = default;
};

/// Maps an index (one position per named axis) to an element offset: offset + sum(index * stride).
///
/// A small regular value, at most 8 axes, outermost logical axis first; all numbers are 64-bit and
/// in elements. Axes are found by name, so a permutation never changes what an index means.
/// Invariants, checked on construction: names are unique, extents and strides are not negative, the
/// largest reachable offset fits 64 bits.
///
/// Example: two pages of three tokens in a pool of five elements a page:
///   Layout pages({{"block", 2, 5}, {"token", 3, 1}});
///   pages.at({1, 2}) == 7, to_string(pages) == "(block 2, token 3):(5, 1)"
class Layout {
 public:
  static constexpr int max_rank = 8;

  constexpr Layout() = default;
  constexpr Layout(std::initializer_list<Axis> axes, std::int64_t offset = 0)
      : Layout(std::span<const Axis>(axes.begin(), axes.size()), offset) {}
  constexpr explicit Layout(std::span<const Axis> axes, std::int64_t offset = 0)
      : rank_(static_cast<int>(axes.size())), offset_(offset) {
    expects(axes.size() <= max_rank, "a layout has at most 8 axes");
    expects(offset >= 0, "a layout's offset is not negative");
    for (int i = 0; i < rank_; ++i) axes_[static_cast<std::size_t>(i)] = axes[static_cast<std::size_t>(i)];
    check();
  }

  constexpr int rank() const { return rank_; }
  constexpr std::int64_t offset() const { return offset_; }
  constexpr std::span<const Axis> axes() const { return {axes_.data(), static_cast<std::size_t>(rank_)}; }
  constexpr const Axis& operator[](int position) const { return axes_[static_cast<std::size_t>(position)]; }

  /// Position of the axis of that name, or -1.
  constexpr int find(AxisName name) const {
    for (int i = 0; i < rank_; ++i)
      if ((*this)[i].name == name) return i;
    return -1;
  }
  /// The axis of that name. Pre: it exists.
  constexpr const Axis& axis(AxisName name) const {
    const int position = find(name);
    expects(position >= 0, "the layout has an axis of that name");
    return (*this)[position];
  }
  constexpr std::int64_t extent(AxisName name) const { return axis(name).extent; }
  constexpr std::int64_t stride(AxisName name) const { return axis(name).stride; }

  /// Number of indices: the product of all extents (1 for rank 0).
  constexpr std::int64_t num_elements() const {
    Checked product = 1;
    for (const Axis& axis : axes()) product *= axis.extent;
    return product;
  }

  /// Element offset of an index, outermost axis first. Pre: one position per axis, each inside its extent.
  constexpr std::int64_t at(std::span<const std::int64_t> index) const {
    expects(index.size() == static_cast<std::size_t>(rank_), "an index has one position per axis");
    std::int64_t result = offset_;
    for (int i = 0; i < rank_; ++i) {
      const std::int64_t position = index[static_cast<std::size_t>(i)];
      expects(position >= 0 && position < (*this)[i].extent, "an index lies inside its extents");
      result += position * (*this)[i].stride;
    }
    return result;
  }
  constexpr std::int64_t at(std::initializer_list<std::int64_t> index) const {
    return at(std::span<const std::int64_t>(index.begin(), index.size()));
  }

  constexpr bool operator==(const Layout&) const = default;

 private:
  constexpr void check() const {
    Checked last = offset_;
    for (int i = 0; i < rank_; ++i) {
      const Axis& axis = (*this)[i];
      expects(axis.extent >= 0 && axis.stride >= 0, "extents and strides are not negative");
      for (int j = 0; j < i; ++j) expects((*this)[j].name != axis.name, "axis names are unique");
      if (axis.extent > 0) last += Checked(axis.extent - 1) * axis.stride;
    }
  }

  std::array<Axis, max_rank> axes_{};
  int rank_ = 0;
  std::int64_t offset_ = 0;
};

/// A dense layout of these axes in this logical order, the last one contiguous; strides given are ignored.
/// Pre: at most 8 axes.
constexpr Layout row_major(std::span<const Axis> axes, std::int64_t offset = 0) {
  expects(axes.size() <= Layout::max_rank, "a layout has at most 8 axes");
  std::array<Axis, Layout::max_rank> dense{};
  Checked stride = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    dense[i] = {axes[i].name, axes[i].extent, stride};
    stride *= axes[i].extent;
  }
  return Layout(std::span(dense.data(), axes.size()), offset);
}
constexpr Layout row_major(std::initializer_list<Axis> axes, std::int64_t offset = 0) {
  return row_major(std::span<const Axis>(axes.begin(), axes.size()), offset);
}

/// "(block 56, kv 2):(30720, 384) + 6144"; the offset is left out where it is 0.
std::string to_string(const Layout& layout);

}  // namespace hybridkv
