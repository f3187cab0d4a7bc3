#pragma once

#include "layout/layout.h"

namespace hybridkv {

/// Elements of memory a layout needs, counted from offset 0: one more than its largest offset, 0 if it has no
/// element. Never less than `num_elements` for an injective layout. Named after CuTe's cosize.
constexpr std::int64_t cosize(const Layout& layout) {
  Checked last = layout.offset();
  for (const Axis& axis : layout.axes()) {
    if (axis.extent == 0) return 0;
    last += Checked(axis.extent - 1) * axis.stride;
  }
  return last + 1;
}

}  // namespace hybridkv
