#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "layout/placed_layout.h"
#include "planner/cache_plan.h"

namespace hybridkv {

/// A view of the plan as the engine under test would use it: a planted fault changes it, the plan itself never.
struct BoundView {
  ViewPlan view;
  std::int64_t group = 0;                    ///< group whose block table its block axis follows
  std::int64_t kernel_blocks_per_page = 1;   ///< positions of the block axis in one page
  std::int64_t byte_shift = 0;               ///< added to every address; 0 unless a fault is planted
  bool narrow_offsets = false;               ///< element offsets wrap at 32 bits; a planted fault
  bool foreign = false;                      ///< no view of the plan: put there by a planted fault

  std::int64_t element_bytes() const { return hybridkv::element_bytes(view.dtype); }
  PlacedLayout placed() const { return {view.layout, element_bytes(), byte_shift}; }
  /// The part of the layout that lies in one page, counted from the first byte of the pool.
  Layout page_layout(std::int64_t block) const;
  /// Byte of the pool at which the element of that index starts, as the engine under test computes it.
  std::int64_t byte_address(std::span<const std::int64_t> index) const;
  /// "layer 3 kv" or "draft layer 0 kv".
  std::string name(const CachePlan& plan) const;
};

/// All views of a plan, unharmed, in its order.
std::vector<BoundView> bind_views(const CachePlan& plan);

}  // namespace hybridkv
