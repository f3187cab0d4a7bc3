#include "verify/block_ops_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/parallel.h"
#include "layout/for_each_run.h"
#include "verify/block_ops.h"
#include "verify/canary.h"

namespace hybridkv {

namespace {

/// Sets the view's own bytes of the target block to what they must be afterwards; `page` holds that block's canary.
using SetOwnBytes = std::function<void(const BoundView& view, std::span<std::byte> page)>;

/// Runs of the view's own bytes, counted from the front of a page.
template <class Visit>
void for_each_own_run(const Traffic& traffic, const BoundView& view, Visit&& visit) {
  const std::int64_t front = traffic.plan.lanes[view.view.lane.index()].offset;
  for_each_run(view.page_bytes(0), [&](std::int64_t begin, std::int64_t bytes) { visit(begin - front, bytes); });
}

void fill(const Traffic& traffic, LaneId number) {
  const LanePlan& lane = traffic.plan.lanes[number.index()];
  for (std::int64_t block : block_ops_blocks(traffic.plan, lane.arena))
    fill_canary(traffic.pools.piece(number, block), lane.pool.value, lane.begin(block));
}

/// Compares all watched pages of the view's lane with their canary, but for its own bytes of the target block.
void compare(const Traffic& traffic, const BoundView& view, std::int64_t target, const SetOwnBytes& set_own_bytes,
             CheckResult& result) {
  const LanePlan& lane = traffic.plan.lanes[view.view.lane.index()];
  const std::int64_t pool = view.view.pool;
  std::vector<std::byte> expected(lane.bytes);
  for (std::int64_t block : block_ops_blocks(traffic.plan, lane.arena)) {
    const std::int64_t first = lane.begin(block);
    fill_canary(expected, pool, first);
    if (block == target) set_own_bytes(view, expected);
    const std::span<const std::byte> page = traffic.pools.piece(view.view.lane, block);
    result.count += lane.bytes;
    const auto [wrong, right] = std::mismatch(page.begin(), page.end(), expected.begin());
    if (wrong == page.end() || result.status == CheckStatus::failed) continue;
    const std::int64_t byte = wrong - page.begin();
    bool own = false;
    if (block == target)
      for_each_own_run(traffic, view, [&](std::int64_t begin, std::int64_t bytes) {
        own = own || (byte >= begin && byte < begin + bytes);
      });
    result.fail(fmt::format("{} of block {}, pool {}: byte {} of block {} {}", view.name(traffic.plan), target, pool,
                            first + byte, block, own ? "was not reached" : "was touched but belongs to somebody else"));
  }
}

/// The ids between which an operation runs, in the arena of the view.
struct OperationIds {
  std::int64_t from = 0;
  std::int64_t target = 0;
};

/// Applies `operate` to every view in turn and compares. Views of one lane are done one after the other.
template <class IdsOf>
CheckResult check_operation(const Traffic& traffic, IdsOf&& ids_of,
                            const std::function<void(const BoundView&, OperationIds)>& operate,
                            const std::function<void(const BoundView&, OperationIds, std::span<std::byte>)>&
                                set_own_bytes) {
  std::vector<CheckResult> results(traffic.plan.lanes.size());
  parallel_for(results.size(), [&](std::size_t lane) {
    const OperationIds ids = ids_of(block_ops_blocks(traffic.plan, traffic.plan.lanes[lane].arena));
    for (const BoundView& view : traffic.views) {
      if (view.view.lane.index() != lane) continue;
      fill(traffic, view.view.lane);
      operate(view, ids);
      compare(traffic, view, ids.target,
              [&](const BoundView& own, std::span<std::byte> page) { set_own_bytes(own, ids, page); }, results[lane]);
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
  const std::int64_t num_ids = plan.arenas[arena.index()].num_ids;
  std::vector<std::int64_t> blocks;
  for (std::int64_t block = std::max<std::int64_t>(0, num_ids - 3); block < num_ids; ++block) blocks.push_back(block);
  return blocks;
}

CheckResult check_zero_one_block(const Traffic& traffic) {
  // The middle of the last three, so that a page too many is caught on either side.
  const auto middle = [](const std::vector<std::int64_t>& ids) { return OperationIds{0, ids[ids.size() / 2]}; };
  const auto zero = [&](const BoundView& view, OperationIds ids) {
    if (is_planted(traffic, view, Fault::zero_full_page))
      zero_page_from_offset(traffic.pools, view, ids.target, traffic.plan.lanes[view.view.lane.index()].bytes);
    else
      zero_block(traffic.pools, view, ids.target);
  };
  return check_operation(traffic, middle, zero, [&](const BoundView& view, OperationIds, std::span<std::byte> page) {
    for_each_own_run(traffic, view, [&](std::int64_t begin, std::int64_t bytes) {
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
                            traffic.plan.lanes[view.view.lane.index()].bytes);
    else
      copy_block(traffic.pools, view, ids.from, ids.target);
  };
  return check_operation(traffic, ends, copy,
                         [&](const BoundView& view, OperationIds ids, std::span<std::byte> page) {
                           const LanePlan& lane = traffic.plan.lanes[view.view.lane.index()];
                           std::vector<std::byte> source(page.size());
                           fill_canary(source, lane.pool.value, lane.begin(ids.from));
                           for_each_own_run(traffic, view, [&](std::int64_t begin, std::int64_t bytes) {
                             std::copy_n(source.begin() + begin, bytes, page.begin() + begin);
                           });
                         });
}

}  // namespace hybridkv
