#pragma once

#include <cstdint>

#include "layout/cosize.h"
#include "layout/layout.h"

namespace hybridkv {

/// A layout put somewhere in a pool: what a tensor takes of it, in bytes.
/// The element at an index takes bytes [base_bytes + at(index) * element_bytes, … + element_bytes).
struct PlacedLayout {
  Layout layout;
  std::int64_t element_bytes = 1;  ///< > 0
  std::int64_t base_bytes = 0;     ///< pool byte of element offset 0; >= 0
};

/// The bytes [begin, end) of a pool; none if begin == end.
struct ByteExtent {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  constexpr bool operator==(const ByteExtent&) const = default;
};

/// From the first byte of the lowest element to the last byte of the highest; [base, base) without elements.
/// Throws InputError where an address does not fit 64 bits.
constexpr ByteExtent byte_extent(const PlacedLayout& placed) {
  expects(placed.element_bytes > 0 && placed.base_bytes >= 0, "a placed layout has element bytes and a base");
  const std::int64_t size = cosize(placed.layout);
  if (size == 0) return {placed.base_bytes, placed.base_bytes};
  return {placed.base_bytes + Checked(placed.layout.offset()) * placed.element_bytes,
          placed.base_bytes + Checked(size) * placed.element_bytes};
}

/// Whether every element lies inside the first pool_bytes bytes. True without elements.
constexpr bool contains(std::int64_t pool_bytes, const PlacedLayout& placed) {
  const ByteExtent extent = byte_extent(placed);
  return extent.begin == extent.end || extent.end <= pool_bytes;
}

}  // namespace hybridkv
