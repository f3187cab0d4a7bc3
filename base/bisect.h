#pragma once

#include <cstdint>

namespace hybridkv {

/// The largest number in [first, end) of which `holds` is true. Pre: holds(first), and once false it stays so.
/// Asks at most log2(end - first) + 1 times.
template <class Holds>
constexpr std::int64_t last_that(std::int64_t first, std::int64_t end, Holds&& holds) {
  while (end - first > 1) {
    const std::int64_t middle = first + (end - first) / 2;
    (holds(middle) ? first : end) = middle;
  }
  return first;
}

}  // namespace hybridkv
