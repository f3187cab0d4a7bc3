#include "verify/layout/untouched_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/parallel.h"
#include "verify/layout/canary.h"
#include "verify/layout/page_map.h"

namespace hybridkv {

namespace {

/// The null id of an arena and the ones that nobody holds.
std::vector<std::int64_t> unheld_ids(const Traffic& traffic, ArenaId arena) {
  const std::vector<std::int64_t>& guards = traffic.assignment.guards[arena.index()];
  std::vector<std::int64_t> ids;
  if (traffic.plan.arenas[arena.index()].has_null_id) ids.push_back(0);
  ids.insert(ids.end(), guards.begin(), guards.end());
  return ids;
}

/// Calls visit(lane, its number) for every lane, on all cores.
template <class Visit>
void for_each_lane(const Traffic& traffic, Visit&& visit) {
  parallel_for(traffic.plan.lanes.size(), [&](std::size_t i) {
    visit(traffic.plan.lanes[i], LaneId{static_cast<std::int64_t>(i)});
  });
}

/// The first layer of the page of a block table behind whose tensors in a lane a byte of id 0 lies; -1: of none.
std::int64_t layer_before(const Traffic& traffic, std::size_t table, LaneId lane, std::int64_t piece,
                          std::int64_t byte) {
  std::int64_t layer = -1, nearest = -1;
  for (const BoundView& view : traffic.views) {
    if (view.foreign || view.table != static_cast<std::int64_t>(table) || view.view.piece != piece ||
        !view.reaches(lane))
      continue;
    const std::int64_t begin = view.page_bytes(lane, 0).offset();
    if (begin <= byte && begin > nearest) {
      nearest = begin;
      const GroupPlan& group = traffic.plan.groups[static_cast<std::size_t>(view.group)];
      layer = group.pages[static_cast<std::size_t>(view.page)].front();
    }
  }
  return layer;
}

/// Compares what nobody's view covers in the ids of one piece of the entries of a block table.
void check_padding_of(const Traffic& traffic, std::size_t group, LaneId lane_id, std::int64_t piece,
                      CheckResult& result) {
  const CachePlan& plan = traffic.plan;
  const LanePlan& lane = plan.lanes[lane_id.index()];
  const GroupPlan& of = plan.groups[group];
  const std::int64_t stride = lane.stride / of.entries_per_id;
  const PageMap map(plan, traffic.views, static_cast<std::int64_t>(group), lane_id, piece);
  struct Gap {
    std::int64_t first, count;
  };
  std::vector<Gap> gaps;
  const std::span<const std::int32_t> owners = map.owners();
  for (std::int64_t k = 0; k < std::ssize(owners); ++k) {
    if (owners[k] != PageMap::nobody) continue;
    if (gaps.empty() || gaps.back().first + gaps.back().count != k) gaps.push_back({k, 0});
    ++gaps.back().count;
  }
  std::vector<std::byte> canary;
  for (std::int64_t id : traffic.assignment.held_by(group, piece)) {
    const std::span<const std::byte> page = traffic.pools.place(of, lane_id, id);
    const std::int64_t begin = lane.offset + id * stride;
    for (const Gap& gap : gaps) {
      const std::span<const std::byte> bytes = page.subspan(gap.first, gap.count);
      canary.resize(bytes.size());
      fill_canary(canary, lane.pool.value, begin + gap.first);
      result.count += gap.count;
      const auto stray = std::mismatch(bytes.begin(), bytes.end(), canary.begin()).first;
      if (stray == bytes.end() || result.status != CheckStatus::passed) continue;
      const std::int64_t byte = begin + gap.first + (stray - bytes.begin());
      result.fail(fmt::format("padding of layer {}'s page, pool {}, block {}, byte {}: somebody wrote there",
                              layer_before(traffic, group, lane_id, piece, byte - id * stride), lane.pool.value, id,
                              byte));
    }
  }
}

/// Places that nobody holds in the ids that somebody does.
void check_unused_places(const Traffic& traffic, CheckResult& result) {
  for (std::size_t number = 0; number < traffic.plan.groups.size(); ++number) {
    const GroupPlan& group = traffic.plan.groups[number];
    const LaneId lane = group.first_lane;
    for (const std::int64_t place : traffic.assignment.unused_places(traffic.plan, number)) {
      const std::span<const std::byte> page = traffic.pools.place(group, lane, place);
      const std::int64_t pool = traffic.plan.lanes[lane.index()].pool.value;
      const std::int64_t first = traffic.plan.lanes[lane.index()].offset + place * traffic.plan.place_stride(group);
      std::vector<std::byte> canary(page.size());
      fill_canary(canary, pool, first);
      result.count += std::ssize(page);
      const auto stray = std::mismatch(page.begin(), page.end(), canary.begin()).first;
      if (stray == page.end()) continue;
      result.fail(fmt::format("small page {} of group {}, which nobody uses, pool {}, byte {}: somebody wrote there",
                              place, number, pool, first + (stray - page.begin())));
    }
  }
}

}  // namespace

void fill_canaries(const Traffic& traffic) {
  std::vector<std::vector<std::int64_t>> ids;  // by arena
  for (std::size_t arena = 0; arena < traffic.plan.arenas.size(); ++arena)
    ids.push_back(unheld_ids(traffic, {static_cast<std::int64_t>(arena)}));
  for (std::size_t group = 0; group < traffic.plan.groups.size(); ++group)
    for (std::int64_t id : traffic.assignment.ids_held_by(traffic.plan, group))
      ids[traffic.plan.groups[group].arena.index()].push_back(id);
  for_each_lane(traffic, [&](const LanePlan& lane, LaneId number) {
    for (std::int64_t id : ids[lane.arena.index()])
      fill_canary(traffic.pools.piece(number, id), lane.pool.value, lane.begin(id));
  });
}

CheckResult check_padding(const Traffic& traffic) {
  const std::size_t num_lanes = traffic.plan.lanes.size();
  std::vector<CheckResult> results(traffic.plan.groups.size() * num_lanes);
  parallel_for(results.size(), [&](std::size_t i) {
    const std::size_t group = i / num_lanes;
    if (traffic.plan.groups[group].shares_table) return;
    const LaneId lane{static_cast<std::int64_t>(i % num_lanes)};
    if (traffic.plan.lanes[lane.index()].arena != traffic.plan.groups[group].arena) return;
    for (std::int64_t piece = 0; piece < traffic.plan.groups[group].ids_per_entry; ++piece)
      check_padding_of(traffic, group, lane, piece, results[i]);
  });
  CheckResult total{.unit = "padding bytes"};
  total.add(results);
  return total;
}

CheckResult check_unheld_blocks(const Traffic& traffic) {
  CheckResult result{.unit = "bytes"};
  for (std::size_t arena = 0; arena < traffic.plan.arenas.size(); ++arena)
    for (std::int64_t id : unheld_ids(traffic, {static_cast<std::int64_t>(arena)}))
      for (std::size_t i = 0; i < traffic.plan.lanes.size(); ++i) {
        const LanePlan& lane = traffic.plan.lanes[i];
        if (lane.arena.index() != arena) continue;
        const std::span<const std::byte> page = traffic.pools.piece({static_cast<std::int64_t>(i)}, id);
        std::vector<std::byte> canary(page.size());
        fill_canary(canary, lane.pool.value, lane.begin(id));
        result.count += lane.bytes;
        const auto [wrong, right] = std::mismatch(page.begin(), page.end(), canary.begin());
        if (wrong == page.end()) continue;
        result.fail(fmt::format("{} block {} of pool {}, byte {}: somebody wrote there",
                                id < traffic.plan.arenas[arena].first_id() ? "the null" : "guard", id, lane.pool.value,
                                lane.begin(id) + (wrong - page.begin())));
      }
  check_unused_places(traffic, result);
  return result;
}

}  // namespace hybridkv
