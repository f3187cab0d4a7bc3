#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/pool.h"
#include "layout/view.h"
#include "planner/cache_plan.h"
#include "verify/layout/bound_view.h"

namespace hybridkv {

/// The pools of a plan as real memory of their full size, of which only touched pages become resident.
class PoolSet {
 public:
  /// Throws ResourceError where the kernel refuses the reservation.
  explicit PoolSet(const CachePlan& plan);

  std::span<std::byte> pool(std::int64_t index) const { return pools_[index].bytes(); }
  /// What one id owns of a lane.
  std::span<std::byte> piece(LaneId lane, std::int64_t id) const;
  /// What the place of a table entry of a group owns of a lane; where ids are not split, that of its id.
  std::span<std::byte> place(const GroupPlan& group, LaneId lane, std::int64_t entry) const;
  /// A part of a view bound to its pool, offset and strides in bytes. Pre: strides are whole elements.
  /// Throws std::logic_error where an element lies outside: audit first.
  TensorView tensor(const BoundView& view, const Layout& bytes) const;

  std::int64_t reserved_bytes() const;
  std::int64_t resident_bytes() const;

 private:
  std::vector<LanePlan> lanes_;
  std::vector<Pool> pools_;
};

}  // namespace hybridkv
