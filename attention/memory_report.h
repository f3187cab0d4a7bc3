#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/checked.h"

namespace hybridkv {

/// One buffer an algorithm allocates.
/// Example: {"shared_bias", {14, 2, 4}, 448}.
struct Allocation {
  std::string what;
  std::vector<std::int64_t> shape;  ///< elements along each axis, outermost first
  std::int64_t bytes = 0;
  bool operator==(const Allocation&) const = default;
};

/// The entry of a buffer without gaps. Throws InputError where its size overflows 64 bits.
Allocation dense_allocation(std::string what, std::vector<std::int64_t> shape, std::int64_t element_bytes);

std::int64_t total_bytes(const std::vector<Allocation>& allocations);

/// Bytes of the allocations of that name, 0 where there is none.
std::int64_t bytes_of(const std::vector<Allocation>& allocations, std::string_view what);

/// The buffers a run really allocated, measured where they are allocated.
struct MemoryReport {
  std::vector<Allocation> biases;   ///< biases and the block usages they are made of
  std::vector<Allocation> scratch;  ///< converted tiles, scores and partial results

  /// Enters a buffer of elements of type T into `scratch`, unless it is empty.
  template <class T>
  void note_scratch(std::string what, std::vector<std::int64_t> shape) {
    Allocation allocation = dense_allocation(std::move(what), std::move(shape), sizeof(T));
    if (allocation.bytes > 0) scratch.push_back(std::move(allocation));
  }

  /// A bias buffer of that shape, every element `value`, entered into `biases`.
  /// Throws ResourceError, with the bytes, where there is not enough memory.
  template <class T>
  std::vector<T> allocate_bias(std::string what, std::vector<std::int64_t> shape, T value) {
    Checked count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
    try {
      std::vector<T> buffer(count, value);
      biases.push_back({std::move(what), std::move(shape), static_cast<std::int64_t>(buffer.capacity() * sizeof(T))});
      return buffer;
    } catch (const std::bad_alloc&) {
      refuse({what, shape, bytes});
    }
  }

 private:
  [[noreturn]] static void refuse(const Allocation& allocation);
};

}  // namespace hybridkv
