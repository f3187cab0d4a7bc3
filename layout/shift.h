#pragma once

#include "layout/layout.h"

namespace hybridkv {

/// The same elements, `by` further on. Pre: no offset becomes negative.
/// Example: shift("(token 3):(1) + 5", 10) is "(token 3):(1) + 15".
constexpr Layout shift(const Layout& layout, std::int64_t by) {
  return Layout(layout.axes(), Checked(layout.offset()) + by);
}

}  // namespace hybridkv
