#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "layout/answer.h"
#include "layout/bounded_sum.h"
#include "layout/injectivity.h"
#include "layout/placed_layout.h"

namespace hybridkv {

/// A byte that belongs to elements of two layouts.
struct Overlap {
  std::size_t first = 0;                   ///< the one layout's place in the list
  std::size_t second = 0;                  ///< the other's, > first
  std::vector<std::int64_t> first_index;   ///< the element: one position per axis
  std::vector<std::int64_t> second_index;
  std::int64_t byte_address = 0;           ///< pool byte that lies in both elements
};

/// Whether no byte of a pool belongs to two layouts, and one that does.
struct Disjointness {
  Answer answer = Answer::yes;
  std::optional<Overlap> overlap;  ///< present exactly if the answer is no
};

/// Compares every two layouts of the list. Exact, whatever the size of the pool: strides common to both (pages),
/// densely tiled axes and the bytes of an element are handled as intervals (see bounded_sum.h). Where that takes
/// more than max_nodes of search, elements are enumerated; "unknown" only if one of the two has more than
/// max_enumerated_indices indices. The first pair that overlaps is reported, before any unknown one.
/// A layout that overlaps only itself is no case for this check: see injectivity.h.
/// Throws InputError where a byte address does not fit 64 bits.
Disjointness check_disjoint(std::span<const PlacedLayout> layouts, std::int64_t max_nodes = max_bounded_sum_nodes);

}  // namespace hybridkv
