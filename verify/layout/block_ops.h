#pragma once

#include <cstdint>

#include "verify/layout/bound_view.h"
#include "verify/layout/pool_set.h"

namespace hybridkv {

/// Sets one block of one layer's tensor to zero, and nothing else.
void zero_block(const PoolSet& pools, const BoundView& view, std::int64_t block);

/// Copies one block of one layer's tensor to another block, and nothing else. Pre: from != to.
void copy_block(const PoolSet& pools, const BoundView& view, std::int64_t from, std::int64_t to);

/// What engines get wrong: wipes a whole page from the layer's own offset, and so the front of the next page.
/// Stops at the end of the pool. Planted by Fault::zero_full_page only.
void zero_page_from_offset(const PoolSet& pools, const BoundView& view, std::int64_t block,
                           std::int64_t page_bytes);

/// The same of a copy: a whole page from the layer's own offset. Planted by Fault::copy_full_page only.
/// Pre: from < to.
void copy_page_from_offset(const PoolSet& pools, const BoundView& view, std::int64_t from, std::int64_t to,
                           std::int64_t page_bytes);

}  // namespace hybridkv
