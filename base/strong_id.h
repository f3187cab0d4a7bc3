#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace hybridkv {

/// A position in one list, which no other list's position can stand for.
template <class Tag>
struct StrongId {
  std::int64_t value = 0;
  std::size_t index() const { return static_cast<std::size_t>(value); }
  auto operator<=>(const StrongId&) const = default;
};

}  // namespace hybridkv
