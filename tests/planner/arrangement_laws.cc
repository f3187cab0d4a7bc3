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

/// What a view may touch: pages of a table that lie apart lie in places of their own.
struct PlaceOfView {
  std::size_t table = 0;  ///< the first group that shares it
  std::size_t group = 0;
  std::size_t page = 0;
};

/// Is the tensor of the view one of the group?
bool has_tensor(const Arrangement& plan, const GroupPlan& group, const ViewPlan& view) {
  return !group.tensor || plan.tensors_of(group).front().name == view.tensor;
}

/// The page that has the layer of a view in its lane.
PlaceOfView place_of(const Arrangement& plan, const ViewPlan& view) {
  PlaceOfView place;
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const GroupPlan& group = plan.groups[i];
    if (!group.shares_table) place.table = i;
    if (group.spec != view.spec || !has_tensor(plan, group, view)) continue;
    for (std::size_t page = 0; page < group.pages.size(); ++page) {
      const std::vector<std::int64_t>& layers = group.pages[page];
      if (plan.lane_of(group, page) != view.lane || std::find(layers.begin(), layers.end(), view.layer) == layers.end())
        continue;
      place.group = i, place.page = page;
      return place;
    }
  }
  place.group = plan.groups.size();
  return place;
}

/// Does the part of a view in the page of a table entry lie in the pieces of its id, in the entry's share of them, and
/// in its own part of that?
bool stays_in_its_page(const CachePlan& plan, const ViewPlan& view, const PlaceOfView& place, std::int64_t entry) {
  const GroupPlan& group = plan.groups[place.group];
  const std::int64_t id = entry / group.entries_per_id, number = entry % group.entries_per_id;
  const Layout page = of_id(plan, view, entry);
  for (std::int64_t i = 0; i < group.lanes_per_page; ++i) {
    const Layout part = group.lanes_per_page == 1 ? page : slice(page, "head", i, 1);
    const LanePlan& lane = plan.lanes[view.lane.index() + static_cast<std::size_t>(i)];
    // Pages of BHLNC lie in between each other; any others side by side.
    const bool apart = group.in_lane && plan.cache_order != CacheOrder::bhlnc;
    const std::int64_t share = lane.bytes / group.entries_per_id;
    const std::int64_t first = lane.begin(id) + number * share + (apart ? plan.offset_in_piece(group, place.page) : 0);
    const ByteExtent extent = byte_extent({part, element_bytes(view.dtype), 0});
    if (extent.begin < first || extent.end > first + (apart ? group.in_lane->bytes : share)) return false;
  }
  return true;
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
  using Page = std::tuple<std::size_t, LaneId, std::int64_t, std::int64_t>;  // table, lane, byte, piece
  std::map<Page, std::vector<PlacedLayout>> pages;
  for (const ViewPlan& view : plan.views) {
    if (view.bytes.num_elements() == 0) continue;
    const LanePlan& lane = plan.lanes[view.lane.index()];
    if (lane.pool.value != view.pool) return "a placement names another pool than its lane";
    const PlaceOfView place = place_of(plan, view);
    if (place.group == plan.groups.size()) return "a placement is of no page";
    const GroupPlan& group = plan.groups[place.group];
    const std::int64_t entries = plan.arenas[lane.arena.index()].num_ids * group.entries_per_id;
    for (const std::int64_t entry : {std::int64_t(0), entries / 2, entries - 1}) {
      if (entries == 0) break;
      if (!stays_in_its_page(plan, view, place, entry)) return "a placement leaves the piece of its id";
    }
    // Pages that were found to stay in places of their own need not be compared with each other.
    const std::int64_t first = plan.cache_order == CacheOrder::bhlnc ? 0 : plan.offset_in_piece(group, place.page);
    pages[{place.table, view.lane, first, view.piece}].push_back(placed(view));
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
        if (view.spec == group.spec && view.layer == layer && view.lane == plan.lane_of(group, page) &&
            has_tensor(plan, group, view))
          bytes += of_id(plan, view, 0).num_elements() * element_bytes(view.dtype);
  return bytes;
}

/// Two pages of a table that share a byte of the pieces of a lane.
std::string broken_table(const CachePlan& plan) {
  std::vector<std::pair<LaneId, ByteExtent>> taken;
  for (const GroupPlan& group : plan.groups) {
    if (!group.shares_table) taken.clear();
    for (std::size_t page = 0; page < group.pages.size(); ++page)
      for (std::int64_t i = 0; i < group.lanes_per_page; ++i) {
        const LaneId lane{plan.lane_of(group, page).value + i};
        const std::int64_t first = plan.offset_in_piece(group, page);
        const std::int64_t bytes = group.in_lane ? group.in_lane->bytes : plan.lanes[lane.index()].bytes;
        if (first + bytes > plan.lanes[lane.index()].bytes / group.entries_per_id)
          return "a page leaves the piece of its lane";
        for (const auto& [other, extent] : taken)
          if (other == lane && first < extent.end && extent.begin < first + bytes) return "two pages of a table meet";
        taken.emplace_back(lane, ByteExtent{first, first + bytes});
      }
  }
  return "";
}

std::string broken_sum(const CachePlan& plan) {
  std::int64_t named = 0;  // bytes of an entry of the table, by the groups that share it
  for (const BlockWaste& waste : plan.waste.per_block) {
    const GroupPlan& group = plan.groups[static_cast<std::size_t>(waste.group)];
    if (plan.arena_of(group).num_ids == 0) continue;
    if (!group.shares_table) named = 0;
    named += placed_bytes(plan, group) + waste.total();
    const std::size_t next = static_cast<std::size_t>(waste.group) + 1;
    if (next < plan.groups.size() && plan.groups[next].shares_table) continue;
    std::int64_t entry = 0;
    for (const LanePlan& lane : plan.lanes) {
      if (lane.arena != group.arena) continue;
      if (lane.bytes % group.entries_per_id != 0) return "entries do not share an id evenly";
      entry += lane.bytes / group.entries_per_id * group.ids_per_entry;
    }
    if (named != entry) return fmt::format("an entry of group {} has bytes of no name", waste.group);
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
  for (const auto& broken : {broken_lane(plan), broken_table(plan), broken_placement(plan), broken_sum(plan)})
    if (!broken.empty()) return broken;
  return "";
}

}  // namespace hybridkv::testing
