#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace hybridkv {

/// Bytes of a cache line, which the widest vectors fill.
inline constexpr std::size_t cache_line_bytes = 64;

/// Allocates on cache lines, so that no vector of a kernel's scratch lies across two.
template <class T>
struct CacheLineAllocator {
  using value_type = T;
  CacheLineAllocator() = default;
  template <class Other>
  CacheLineAllocator(const CacheLineAllocator<Other>&) {}
  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t{cache_line_bytes}));
  }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, std::align_val_t{cache_line_bytes}); }
  bool operator==(const CacheLineAllocator&) const { return true; }
};

/// A vector that begins on a cache line.
template <class T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace hybridkv
