#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "layout/placed_layout.h"
#include "planner/cache_plan.h"

namespace hybridkv {

/// A view of the plan as the engine under test would use it: a planted fault changes it, the plan itself never.
/// Addresses are bytes, so that a tensor off its element size can be told from one on it.
struct BoundView {
  ViewPlan view;                             ///< what the plan says; the engine addresses by `address` instead
  Layout address;                            ///< axes of view.bytes; the byte of the pool where an element starts
  std::int64_t group = 0;                    ///< group of its layer
  std::int64_t page = 0;                     ///< of the group, in which the layer is
  std::int64_t table = 0;                    ///< group whose block table its block axis follows: the first that has it
  std::int64_t lanes = 1;                    ///< over which its page is spread from view.lane on, a head in each
  std::int64_t kernel_blocks_per_page = 1;   ///< positions of the block axis in one page
  bool narrow_offsets = false;               ///< element offsets wrap at 32 bits; a planted fault
  bool kv_exchanged = false;                 ///< takes K for V and V for K; a planted fault
  bool foreign = false;                      ///< no view of the plan: put there by a planted fault

  std::int64_t element_bytes() const { return hybridkv::element_bytes(view.dtype); }
  /// Every single byte of the view: `address`, and an axis "byte" where elements have more than one.
  Layout bytes() const;
  PlacedLayout placed() const { return {bytes(), 1, 0}; }
  /// The part of `bytes` that lies in one page, counted from the first byte of the pool.
  Layout page_bytes(std::int64_t block) const;
  /// Does its page lie in this lane, or in part?
  bool reaches(LaneId lane) const { return lane >= view.lane && lane.value < view.lane.value + lanes; }
  /// What of `page_bytes` lies in a lane. Pre: it reaches that lane.
  Layout page_bytes(LaneId lane, std::int64_t block) const;
  /// Lane of the element of that index.
  LaneId lane_of(std::span<const std::int64_t> index) const;
  /// The byte that the engine under test takes for this one: another where its offsets wrap.
  std::int64_t engine_byte(std::int64_t byte) const;
  /// Byte of the pool at which the element of that index starts, as the engine under test computes it.
  std::int64_t byte_address(std::span<const std::int64_t> index) const { return engine_byte(address.at(index)); }
  /// "layer 3 kv" or "draft layer 0 kv".
  std::string name(const CachePlan& plan) const;
  /// "layer 3 kv, pool 0, block 12, byte 3456": how messages name a place; `byte` counts from the front of the pool.
  std::string place(const CachePlan& plan, std::int64_t block, std::int64_t byte) const;
};

/// The bytes of every id, or place in one, that are for a view alone, or for all views that lie in between each other.
struct PageRegion {
  std::int64_t offset = 0;  ///< of id 0, from the front of the pool
  std::int64_t stride = 0;  ///< from one id's to the next one's
  std::int64_t bytes = 0;
  std::int64_t begin(std::int64_t id) const { return offset + id * stride; }
};

/// Group of the layer of a view.
inline const GroupPlan& group_of(const CachePlan& plan, const BoundView& view) {
  return plan.groups[static_cast<std::size_t>(view.group)];
}

/// Of a page that lies beside others in the pieces of a lane its own part of them; else, and where pages lie in between
/// each other (BHLNC), all of the piece. Pre: the view reaches that lane.
PageRegion page_region(const CachePlan& plan, const BoundView& view, LaneId lane);

/// The tensor of a state that a view is of. Pre: it is one of its spec.
const StateTensor& tensor_of(const StateSpec& state, const ViewPlan& view);

/// Throws InputError where the engine plans the cache and then refuses to make views of it, with its reason.
void require_views(const CachePlan& plan);

/// All views of a plan, unharmed, in its order.
std::vector<BoundView> bind_views(const CachePlan& plan);

/// K and V of an attention view as the engine under test finds them, each (block, token, head, channel), offset and
/// strides in bytes.
KeyValueLayouts key_value_bytes(const BoundView& view, const AttentionGeometry& attention);

/// A layout in bytes as one in elements, counted from byte `offset % element_bytes` of the pool.
/// Pre: every stride is a multiple of the element, as check "alignment" shows.
Layout in_elements(const Layout& bytes, std::int64_t element_bytes);

}  // namespace hybridkv
