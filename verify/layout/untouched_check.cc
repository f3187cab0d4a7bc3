#include "verify/layout/untouched_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <vector>

#include "base/parallel.h"
#include "verify/layout/canary.h"
#include "verify/layout/page_gaps.h"

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

/// The first byte that is not the canary of these, which lie at `offset` of their pool. `canary`: room, kept.
std::optional<std::int64_t> stray_byte(std::span<const std::byte> bytes, PoolId pool, std::int64_t offset,
                                       std::vector<std::byte>& canary) {
  canary.resize(bytes.size());
  fill_canary(canary, pool.value, offset);
  if (std::memcmp(bytes.data(), canary.data(), bytes.size()) == 0) return std::nullopt;
  return std::mismatch(bytes.begin(), bytes.end(), canary.begin()).first - bytes.begin();
}

/// Compares what nobody's view covers in the ids of one piece of the entries of a block table.
void check_padding_of(const Traffic& traffic, std::size_t group, LaneId lane_id, std::int64_t piece,
                      CheckResult& result) {
  const CachePlan& plan = traffic.plan;
  const LanePlan& lane = plan.lanes[lane_id.index()];
  const GroupPlan& of = plan.groups[group];
  const std::int64_t stride = lane.stride / of.entries_per_id;
  const std::vector<PageGap> gaps =
      page_gaps(plan, traffic.views, static_cast<std::int64_t>(group), lane_id, piece);
  std::vector<std::byte> canary;
  for (std::int64_t id : traffic.assignment.held_by(group, piece)) {
    const std::span<const std::byte> page = traffic.pools.place(of, lane_id, id);
    const std::int64_t begin = lane.offset + id * stride;
    for (const PageGap& gap : gaps) {
      result.count += gap.bytes;
      const auto stray = stray_byte(page.subspan(gap.first, gap.bytes), lane.pool, begin + gap.first, canary);
      if (!stray || result.status != CheckStatus::passed) continue;
      const std::int64_t byte = begin + gap.first + *stray;
      result.fail(fmt::format("padding of layer {}'s page, pool {}, block {}, byte {}: somebody wrote there",
                              layer_before(traffic, group, lane_id, piece, byte - id * stride), lane.pool.value, id,
                              byte));
    }
  }
}

/// Places that nobody holds in the ids that somebody does.
void check_unused_places(const Traffic& traffic, CheckResult& result) {
  std::vector<std::byte> canary;
  for (std::size_t number = 0; number < traffic.plan.groups.size(); ++number) {
    const GroupPlan& group = traffic.plan.groups[number];
    const LaneId lane = group.first_lane;
    for (const std::int64_t place : traffic.assignment.unused_places(traffic.plan, number)) {
      const std::span<const std::byte> page = traffic.pools.place(group, lane, place);
      const PoolId pool = traffic.plan.lanes[lane.index()].pool;
      const std::int64_t first = traffic.plan.lanes[lane.index()].offset + place * traffic.plan.place_stride(group);
      result.count += std::ssize(page);
      const auto written = stray_byte(page, pool, first, canary);
      if (!written) continue;
      result.fail(fmt::format("small page {} of group {}, which nobody uses, pool {}, byte {}: somebody wrote there",
                              place, number, pool.value, first + *written));
    }
  }
}

}  // namespace

void fill_canaries(const Traffic& traffic) {
  struct Piece {
    LaneId lane;
    std::int64_t id;
  };
  std::vector<std::set<std::int64_t>> ids(traffic.plan.arenas.size());  // groups that share a table hold the same
  for (std::size_t arena = 0; arena < ids.size(); ++arena)
    for (const std::int64_t id : unheld_ids(traffic, {static_cast<std::int64_t>(arena)})) ids[arena].insert(id);
  for (std::size_t group = 0; group < traffic.plan.groups.size(); ++group)
    for (const std::int64_t id : traffic.assignment.ids_held_by(traffic.plan, group))
      ids[traffic.plan.groups[group].arena.index()].insert(id);
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < traffic.plan.lanes.size(); ++i)
    for (const std::int64_t id : ids[traffic.plan.lanes[i].arena.index()])
      pieces.push_back({{static_cast<std::int64_t>(i)}, id});
  parallel_for(pieces.size(), [&](std::size_t i) {
    const LanePlan& lane = traffic.plan.lanes[pieces[i].lane.index()];
    const std::span<std::byte> bytes = traffic.pools.piece(pieces[i].lane, pieces[i].id);
    Pool::populate(bytes);
    fill_canary(bytes, lane.pool.value, lane.begin(pieces[i].id));
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
  std::vector<std::byte> canary;
  for (std::size_t arena = 0; arena < traffic.plan.arenas.size(); ++arena)
    for (std::int64_t id : unheld_ids(traffic, {static_cast<std::int64_t>(arena)}))
      for (std::size_t i = 0; i < traffic.plan.lanes.size(); ++i) {
        const LanePlan& lane = traffic.plan.lanes[i];
        if (lane.arena.index() != arena) continue;
        const std::span<const std::byte> page = traffic.pools.piece({static_cast<std::int64_t>(i)}, id);
        result.count += lane.bytes;
        const auto wrong = stray_byte(page, lane.pool, lane.begin(id), canary);
        if (!wrong) continue;
        result.fail(fmt::format("{} block {} of pool {}, byte {}: somebody wrote there",
                                id < traffic.plan.arenas[arena].first_id() ? "the null" : "guard", id, lane.pool.value,
                                lane.begin(id) + *wrong));
      }
  check_unused_places(traffic, result);
  return result;
}

}  // namespace hybridkv
