#include "verify/layout/block_ops_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/parallel.h"
#include "layout/for_each_run.h"
#include "verify/layout/block_ops.h"
#include "verify/layout/canary.h"

namespace hybridkv {

namespace {

/// The last three of so many.
std::vector<std::int64_t> last_blocks(std::int64_t count) {
  std::vector<std::int64_t> blocks;
  for (std::int64_t block = std::max<std::int64_t>(0, count - 3); block < count; ++block) blocks.push_back(block);
  return blocks;
}

/// Sets the bytes of the target block that the view owns in a lane to what they must be afterwards. `source`: canary of
/// the block that is copied; `page`: canary of the target block.
using SetOwnBytes = std::function<void(const BoundView& view, LaneId lane, std::span<const std::byte> source,
                                       std::span<std::byte> page)>;

/// Runs of the bytes that a view owns in a lane, counted from the front of its piece.
template <class Visit>
void for_each_own_run(const Traffic& traffic, const BoundView& view, LaneId lane, Visit&& visit) {
  const std::int64_t front = traffic.plan.lanes[lane.index()].offset;
  for_each_run(view.page_bytes(lane, 0), [&](std::int64_t begin, std::int64_t bytes) { visit(begin - front, bytes); });
}

/// What one id, or a place in it, owns of a lane, and its canary.
struct WatchedPiece {
  LaneId lane;
  std::int64_t block = 0;
  std::int64_t begin = 0;  ///< byte of the pool
  std::vector<std::byte> canary;
  std::vector<std::byte> expected;  ///< of a target: the canary, but for the bytes of the view that is looked at
};

/// The last blocks that a group can number.
std::vector<std::int64_t> watched_blocks(const CachePlan& plan, const GroupPlan& group) {
  return last_blocks(plan.num_places(group));
}

/// The watched blocks of a group in so many lanes, from now on with their canary.
std::vector<WatchedPiece> watch(const Traffic& traffic, const GroupPlan& group, LaneId first, std::int64_t lanes) {
  std::vector<WatchedPiece> watched;
  for (std::int64_t i = 0; i < lanes; ++i) {
    const LaneId number{first.value + i};
    const LanePlan& lane = traffic.plan.lanes[number.index()];
    for (const std::int64_t block : watched_blocks(traffic.plan, group)) {
      const std::int64_t begin = lane.offset + block * (lane.stride / group.entries_per_id);
      WatchedPiece& piece = watched.emplace_back(
          WatchedPiece{number, block, begin, std::vector<std::byte>(lane.bytes / group.entries_per_id), {}});
      fill_canary(piece.canary, lane.pool.value, begin);
      const std::span<std::byte> page = traffic.pools.place(group, number, block);
      Pool::populate(page);
      std::copy(piece.canary.begin(), piece.canary.end(), page.begin());
    }
  }
  return watched;
}

/// The ids between which an operation runs, in the arena of the view.
struct OperationIds {
  std::int64_t from = 0;
  std::int64_t target = 0;
};

/// Compares a watched piece that the view reaches with its canary, but for the view's own bytes of the target block;
/// afterwards it is its canary again.
void compare_piece(const Traffic& traffic, const BoundView& view, std::span<const WatchedPiece> watched,
                   WatchedPiece& piece, OperationIds ids, const SetOwnBytes& set_own_bytes, CheckResult& result) {
  const std::span<std::byte> page = traffic.pools.place(group_of(traffic.plan, view), piece.lane, piece.block);
  const bool is_target = piece.block == ids.target;
  if (is_target) {
    const auto source = std::find_if(watched.begin(), watched.end(), [&](const WatchedPiece& other) {
      return other.lane == piece.lane && other.block == ids.from;
    });
    if (piece.expected.empty()) piece.expected = piece.canary;
    set_own_bytes(view, piece.lane, source == watched.end() ? std::span<const std::byte>() : source->canary,
                  piece.expected);
  }
  const std::span<const std::byte> expected = is_target ? piece.expected : piece.canary;
  result.count += std::ssize(page);
  const bool is_right = std::memcmp(page.data(), expected.data(), page.size()) == 0;
  if (!is_right && result.status != CheckStatus::failed) {
    const std::int64_t byte = std::mismatch(page.begin(), page.end(), expected.begin()).first - page.begin();
    bool own = false;
    if (is_target)
      for_each_own_run(traffic, view, piece.lane, [&](std::int64_t begin, std::int64_t bytes) {
        own = own || (byte >= begin && byte < begin + bytes);
      });
    result.fail(fmt::format("{} of block {}, pool {}: byte {} of block {} {}", view.name(traffic.plan), ids.target,
                            view.view.pool, piece.begin + byte, piece.block,
                            own ? "was not reached" : "was touched but belongs to somebody else"));
  }
  if (!is_target) return;
  // What is right differs from its canary in these bytes alone.
  for_each_own_run(traffic, view, piece.lane, [&](std::int64_t begin, std::int64_t bytes) {
    std::copy_n(piece.canary.begin() + begin, bytes, piece.expected.begin() + begin);
    std::copy_n(piece.canary.begin() + begin, bytes, page.begin() + begin);
  });
}

/// Applies `operate` to every view in turn and compares. Views of one lane are done one after the other.
template <class IdsOf>
CheckResult check_operation(const Traffic& traffic, IdsOf&& ids_of,
                            const std::function<void(const BoundView&, OperationIds)>& operate,
                            const SetOwnBytes& set_own_bytes) {
  std::vector<CheckResult> results(traffic.plan.lanes.size());
  parallel_for(results.size(), [&](std::size_t lane) {
    std::int64_t lanes = 0;  // over which pages that begin in this one are spread
    for (const BoundView& view : traffic.views)
      if (view.view.lane.index() == lane) lanes = std::max(lanes, view.lanes);
    if (lanes == 0) return;
    const LaneId number{static_cast<std::int64_t>(lane)};
    std::vector<WatchedPiece> watched;
    std::int64_t entries = 0;  // in an id, by which they are watched
    for (const BoundView& view : traffic.views) {
      if (view.view.lane != number) continue;
      const GroupPlan& group = group_of(traffic.plan, view);
      if (entries != group.entries_per_id) watched = watch(traffic, group, number, lanes);
      entries = group.entries_per_id;
      const OperationIds ids = ids_of(watched_blocks(traffic.plan, group));
      operate(view, ids);
      for (WatchedPiece& piece : watched)
        if (view.reaches(piece.lane))
          compare_piece(traffic, view, watched, piece, ids, set_own_bytes, results[lane]);
    }
  });
  CheckResult total{.unit = "bytes compared"};
  total.add(results);
  return total;
}

/// Operations on whole pages are what packed layers suffer from; where there are none, every layer does.
bool is_planted(const Traffic& traffic, const BoundView& view, Fault fault) {
  const bool has_packs = std::any_of(traffic.plan.specs.begin(), traffic.plan.specs.end(),
                                     [](const SpecPlan& spec) { return spec.layers_per_page > 1; });
  return traffic.fault == fault && (!has_packs || traffic.plan.specs[view.view.spec].layers_per_page > 1);
}

}  // namespace

std::vector<std::int64_t> block_ops_blocks(const CachePlan& plan, ArenaId arena) {
  return last_blocks(plan.arenas[arena.index()].num_ids);
}

CheckResult check_zero_one_block(const Traffic& traffic) {
  // The middle of the last three, so that a page too many is caught on either side.
  const auto middle = [](const std::vector<std::int64_t>& ids) { return OperationIds{0, ids[ids.size() / 2]}; };
  const auto zero = [&](const BoundView& view, OperationIds ids) {
    if (is_planted(traffic, view, Fault::zero_full_page))
      zero_page_from_offset(traffic.pools, view, ids.target,
                            traffic.plan.place_bytes(group_of(traffic.plan, view)));
    else
      zero_block(traffic.pools, view, ids.target);
  };
  return check_operation(traffic, middle, zero,
                         [&](const BoundView& view, LaneId lane, std::span<const std::byte>,
                             std::span<std::byte> page) {
                           for_each_own_run(traffic, view, lane, [&](std::int64_t begin, std::int64_t bytes) {
                             std::fill_n(page.begin() + begin, bytes, std::byte{0});
                           });
                         });
}

CheckResult check_copy_one_block(const Traffic& traffic) {
  CheckResult none{.status = CheckStatus::not_run, .unit = "bytes compared"};
  none.message = "the pools have a single block";
  for (const ArenaPlan& arena : traffic.plan.arenas)
    if (arena.num_ids < 2) return none;
  const auto ends = [](const std::vector<std::int64_t>& ids) { return OperationIds{ids.front(), ids.back()}; };
  const auto copy = [&](const BoundView& view, OperationIds ids) {
    if (is_planted(traffic, view, Fault::copy_full_page))
      copy_page_from_offset(traffic.pools, view, ids.from, ids.target,
                            traffic.plan.place_bytes(group_of(traffic.plan, view)));
    else
      copy_block(traffic.pools, view, ids.from, ids.target);
  };
  return check_operation(traffic, ends, copy,
                         [&](const BoundView& view, LaneId lane, std::span<const std::byte> source,
                             std::span<std::byte> page) {
                           for_each_own_run(traffic, view, lane, [&](std::int64_t begin, std::int64_t bytes) {
                             std::copy_n(source.begin() + begin, bytes, page.begin() + begin);
                           });
                         });
}

}  // namespace hybridkv
