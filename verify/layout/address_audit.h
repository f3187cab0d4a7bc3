#pragma once

#include <cstdint>
#include <span>

#include "verify/check_result.h"
#include "verify/layout/block_assignment.h"
#include "verify/layout/bound_view.h"

namespace hybridkv {

/// Every element of every layer, state and block has its own address inside its pool and page: proven by intervals
/// at the pool's full size, without touching memory. `count` = elements proven.
CheckResult audit_by_intervals(const CachePlan& plan, std::span<const BoundView> views);

/// The same, element by element, on pools of three pages with the same strides. `count` = elements visited.
CheckResult audit_by_enumeration(const CachePlan& plan, std::span<const BoundView> views);

/// The same for sampled elements of far blocks of the full pools: the address a view computes is compared with
/// overflow-checked arithmetic, and no two sampled elements meet. `count` = elements sampled.
CheckResult audit_by_samples(const CachePlan& plan, std::span<const BoundView> views,
                             const BlockAssignment& assignment, std::uint64_t seed);

/// Every tensor starts, and steps, on multiples of its element size. `count` = views.
CheckResult audit_alignment(const CachePlan& plan, std::span<const BoundView> views);

/// Every block id that a request holds lies in the pool, is not the null block, and belongs to nobody else (but for
/// the shared prefix). `count` = block ids.
CheckResult audit_block_tables(const CachePlan& plan, const BlockAssignment& assignment);

}  // namespace hybridkv
