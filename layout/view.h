#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "layout/layout.h"

namespace hybridkv {

/// Borrowed memory with an element type and a layout; element offsets count from `base`, the first
/// byte of the pool. Does not own, does not allocate.
/// Invariant (checked by verify's address audit, and by `make_view` below): every element lies in
/// [base, base + size_bytes).
struct TensorView {
  std::byte* base = nullptr;     ///< first byte of the pool, aligned to the element size (a `Pool`: to a memory page)
  std::int64_t size_bytes = 0;   ///< bytes of the pool
  DType dtype = DType::fp32;
  Layout layout;                 ///< offset and strides in elements of `dtype`

  /// Address of one element. Pre: as Layout::at.
  std::byte* address(std::span<const std::int64_t> index) const {
    return base + layout.at(index) * element_bytes(dtype);
  }
  std::byte* address(std::initializer_list<std::int64_t> index) const {
    return base + layout.at(index) * element_bytes(dtype);
  }
};

/// A view whose elements all lie inside the memory. Throws std::logic_error where one would not, or where the
/// memory is not aligned to the element size.
TensorView make_view(std::span<std::byte> memory, DType dtype, const Layout& layout);

/// Value of an element as float (integers by value). Copies; any alignment.
float load_element(const std::byte* address, DType dtype);

/// Stores a value as `encode` of base/convert.h: rounded to nearest even; fp8 and integers saturate, NaN stays
/// NaN (0 in integers).
void store_element(std::byte* address, DType dtype, float value);

}  // namespace hybridkv
