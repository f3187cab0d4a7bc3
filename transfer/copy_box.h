#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace hybridkv {

/// An axis of a box that is copied: so many positions, so many bytes apart on each side.
struct BoxAxis {
  std::int64_t extent = 1;
  std::int64_t from_stride = 0;
  std::int64_t to_stride = 0;
};

/// Elements, or runs of them, that lie together on both sides.
struct BoxRun {
  std::int64_t from_bytes = 0;
  std::int64_t to_bytes = 0;
};

/// Takes into the run every axis that steps by exactly one run on both sides, and puts the others in the order of the
/// destination, outermost first. Returns those that are left, in the same memory.
/// Example: a run of 4 bytes and axes (8 x (100, 50), 3 x (4, 4)) leave a run of 12 and (8 x (100, 50)).
inline std::span<BoxAxis> fold_box(std::span<BoxAxis> axes, BoxRun& run) {
  std::size_t left = 0;
  for (const BoxAxis& axis : axes)
    if (axis.extent != 1) axes[left++] = axis;
  for (bool folded = true; folded;) {
    folded = false;
    for (std::size_t i = 0; i < left; ++i) {
      if (axes[i].from_stride != run.from_bytes || axes[i].to_stride != run.to_bytes) continue;
      run.from_bytes *= axes[i].extent;
      run.to_bytes *= axes[i].extent;
      axes[i] = axes[--left];
      folded = true;
    }
  }
  for (std::size_t i = 1; i < left; ++i)
    for (std::size_t j = i; j > 0 && axes[j - 1].to_stride < axes[j].to_stride; --j) std::swap(axes[j - 1], axes[j]);
  return axes.first(left);
}

/// Calls visit(from, to) with the byte at which each run of a folded box begins.
template <class Visit>
void for_each_run_of_box(std::span<const BoxAxis> axes, std::int64_t from, std::int64_t to, Visit&& visit) {
  if (axes.empty()) {
    visit(from, to);
    return;
  }
  const BoxAxis& outer = axes.front();
  for (std::int64_t i = 0; i < outer.extent; ++i)
    for_each_run_of_box(axes.subspan(1), from + i * outer.from_stride, to + i * outer.to_stride, visit);
}

}  // namespace hybridkv
