#include "tests/planner/arrangement_laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "layout/disjointness.h"
#include "layout/injectivity.h"
#include "layout/placed_layout.h"
#include "layout/slice.h"

namespace hybridkv::testing {

namespace {

PlacedLayout placed(const ViewPlan& view) { return {view.elements(), element_bytes(view.dtype), 0}; }

/// The part of a view in the page of one id.
Layout of_id(const Arrangement& plan, const ViewPlan& view, std::int64_t id) {
  const SpecPlan& spec = plan.specs[static_cast<std::size_t>(view.spec)];
  const std::int64_t steps = spec.attention ? spec.block_size_tokens / spec.kernel_block_size_tokens : 1;
  return slice(view.elements(), "block", id * steps, steps);
}

/// Position of the group that has the layer of a view in its lane.
std::size_t group_of(const Arrangement& plan, const ViewPlan& view) {
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const GroupPlan& group = plan.groups[i];
    const auto page = static_cast<std::size_t>(view.lane.value - group.first_lane.value);
    if (group.spec != view.spec || view.lane < group.first_lane || page >= group.pages.size()) continue;
    if (std::find(group.pages[page].begin(), group.pages[page].end(), view.layer) != group.pages[page].end()) return i;
  }
  return plan.groups.size();
}

std::string broken_lane(const Arrangement& plan) {
  std::vector<std::vector<PlacedLayout>> lanes(plan.pools.size());
  std::vector<std::int64_t> bytes(plan.pools.size(), 0);
  for (const LanePlan& lane : plan.lanes) {
    const std::int64_t ids = plan.arenas[lane.arena.index()].num_ids;
    const PlacedLayout pieces{Layout({{"id", ids, lane.stride}, {"byte", lane.bytes, 1}}, lane.offset), 1, 0};
    if (is_injective(pieces.layout) != Answer::yes) return "pieces of one lane share a byte";
    if (!contains(plan.pools[lane.pool.index()].bytes, pieces)) return "a lane leaves its pool";
    lanes[lane.pool.index()].push_back(pieces);
    bytes[lane.pool.index()] += ids * lane.bytes;
  }
  for (std::size_t pool = 0; pool < plan.pools.size(); ++pool) {
    if (check_disjoint(lanes[pool]).answer != Answer::yes) return "two lanes share a byte";
    if (bytes[pool] != plan.pools[pool].bytes) return "a pool has bytes of no lane";
  }
  return "";
}

std::string broken_placement(const CachePlan& plan) {
  std::map<std::tuple<std::size_t, LaneId, std::int64_t>, std::vector<PlacedLayout>> pages;
  for (const ViewPlan& view : plan.views) {
    if (view.bytes.num_elements() == 0) continue;
    const LanePlan& lane = plan.lanes[view.lane.index()];
    if (lane.pool.value != view.pool) return "a placement names another pool than its lane";
    const std::int64_t ids = plan.arenas[lane.arena.index()].num_ids;
    for (const std::int64_t id : {std::int64_t(0), ids / 2, ids - 1}) {
      if (ids == 0) break;
      const ByteExtent extent = byte_extent({of_id(plan, view, id), element_bytes(view.dtype), 0});
      if (extent.begin < lane.begin(id) || extent.end > lane.begin(id) + lane.bytes)
        return "a placement leaves the piece of its id";
    }
    pages[{group_of(plan, view), view.lane, view.piece}].push_back(placed(view));
  }
  for (const auto& [page, views] : pages)
    if (check_disjoint(views).answer != Answer::yes) return "two placements share a byte";
  return "";
}

/// Bytes of all placements of a group in one entry.
std::int64_t placed_bytes(const CachePlan& plan, const GroupPlan& group) {
  std::int64_t bytes = 0;
  for (std::size_t page = 0; page < group.pages.size(); ++page)
    for (const std::int64_t layer : group.pages[page])
      for (const ViewPlan& view : plan.views)
        if (view.spec == group.spec && view.layer == layer && view.lane == plan.lane_of(group, page))
          bytes += of_id(plan, view, 0).num_elements() * element_bytes(view.dtype);
  return bytes;
}

std::string broken_sum(const CachePlan& plan) {
  for (const BlockWaste& waste : plan.waste.per_block) {
    const GroupPlan& group = plan.groups[static_cast<std::size_t>(waste.group)];
    if (plan.arena_of(group).num_ids == 0) continue;
    std::int64_t lanes = 0;
    for (const LanePlan& lane : plan.lanes) lanes += lane.arena == group.arena;
    const std::int64_t entry = lanes * plan.page_bytes(group) * group.ids_per_entry;
    if (placed_bytes(plan, group) + waste.total() != entry)
      return fmt::format("an entry of group {} has bytes of no name", waste.group);
  }
  const LoadWaste& load = plan.waste.at_load;
  if (load.used_bytes() + load.wasted_bytes() + load.null_block_bytes + load.free_bytes != plan.pool_bytes())
    return "the bytes of the pools do not add up";
  for (std::size_t arena = 0; arena < plan.arenas.size(); ++arena) {
    std::int64_t bytes = 0;
    for (const LanePlan& lane : plan.lanes) bytes += lane.arena.index() == arena ? lane.bytes : 0;
    if (arena == 0)
      for (const ExtraPlan& extra : plan.extras) bytes += extra.bytes_per_block;
    if (bytes != plan.arenas[arena].bytes_per_id) return "an id has other bytes than its pieces";
  }
  return "";
}

}  // namespace

std::string broken_law(const CachePlan& plan) {
  for (const auto& broken : {broken_lane(plan), broken_placement(plan), broken_sum(plan)})
    if (!broken.empty()) return broken;
  return "";
}

}  // namespace hybridkv::testing
