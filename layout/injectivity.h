#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "layout/answer.h"
#include "layout/bounded_sum.h"
#include "layout/layout.h"

namespace hybridkv {

/// Two indices of one layout that mean the same element.
struct Collision {
  std::vector<std::int64_t> first;   ///< one position per axis
  std::vector<std::int64_t> second;  ///< another index
  std::int64_t offset = 0;           ///< element offset of both
};

/// Whether every index has an element of its own, and two that have not.
struct Injectivity {
  Answer answer = Answer::yes;
  std::optional<Collision> collision;  ///< present exactly if the answer is no
};

/// Layouts up to this many indices always get a "yes" or "no", by enumeration if need be.
inline constexpr std::int64_t max_enumerated_indices = std::int64_t{1} << 20;

/// Exact. Answers at once where each stride steps over all that the smaller ones reach (every layout of a
/// sound plan), otherwise by search of at most max_nodes (see bounded_sum.h) for each axis; "unknown" only if that
/// is too few and the layout has more than max_enumerated_indices indices. True for a layout without elements.
/// Throws InputError where the doubled largest offset does not fit 64 bits.
Injectivity check_injective(const Layout& layout, std::int64_t max_nodes = max_bounded_sum_nodes);

/// The answer of `check_injective` alone.
Answer is_injective(const Layout& layout);

}  // namespace hybridkv
