#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "layout/layout.h"

namespace hybridkv {

/// The index of a layout whose element holds a place, and how far inside of it the place lies.
struct Located {
  std::vector<std::int64_t> index;  ///< outermost logical axis first; of axes without a stride 0
  std::int64_t rest = 0;            ///< 0 to below the extent of an element
  bool operator==(const Located&) const = default;
};

/// The inverse of Layout::at, where each element covers `element` places from its offset on: with a layout in bytes,
/// its bytes. Nothing where no element covers the place; of several, the one that is found first.
/// Law: for injective layouts locate(layout, layout.at(i) + r, element) is {i, r}, axes of one position aside.
/// Costs one look at each axis where a stride covers all that lies inside of it, as in every cache.
std::optional<Located> locate(const Layout& layout, std::int64_t place, std::int64_t element = 1);

}  // namespace hybridkv
