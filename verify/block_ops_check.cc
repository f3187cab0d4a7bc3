#include "verify/block_ops_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "layout/for_each_run.h"
#include "verify/block_ops.h"
#include "verify/canary.h"
#include "layout/parallel.h"

namespace hybridkv {

namespace {

/// Sets the view's own bytes of the target block to what they must be afterwards; `page` holds that block's canary.
using SetOwnBytes = std::function<void(const BoundView& view, std::span<std::byte> page)>;

void fill(const Traffic& traffic, std::int64_t pool) {
  for (std::int64_t block : block_ops_blocks(traffic.plan))
    fill_canary(traffic.pools.page(pool, block), pool, block * traffic.plan.page_bytes);
}

/// Compares all watched pages of the view's pool with their canary, but for its own bytes of the target block.
void compare(const Traffic& traffic, const BoundView& view, std::int64_t target, const SetOwnBytes& set_own_bytes,
             CheckResult& result) {
  const std::int64_t pool = view.view.pool;
  std::vector<std::byte> expected(traffic.plan.page_bytes);
  for (std::int64_t block : block_ops_blocks(traffic.plan)) {
    const std::int64_t first = block * traffic.plan.page_bytes;
    fill_canary(expected, pool, first);
    if (block == target) set_own_bytes(view, expected);
    const std::span<const std::byte> page = traffic.pools.page(pool, block);
    result.count += traffic.plan.page_bytes;
    const auto [wrong, right] = std::mismatch(page.begin(), page.end(), expected.begin());
    if (wrong == page.end() || result.status == CheckStatus::failed) continue;
    const std::int64_t byte = wrong - page.begin();
    bool own = false;
    if (block == target)
      for_each_run(view.page_bytes(0), [&](std::int64_t begin, std::int64_t bytes) {
        own = own || (byte >= begin && byte < begin + bytes);
      });
    result.fail(fmt::format("{} of block {}, pool {}: byte {} of block {} {}", view.name(traffic.plan), target, pool,
                            first + byte, block, own ? "was not reached" : "was touched but belongs to somebody else"));
  }
}

/// Applies `operate` to every view in turn and compares. Views of one pool are done one after the other.
CheckResult check_operation(const Traffic& traffic, std::int64_t target,
                            const std::function<void(const BoundView&)>& operate, const SetOwnBytes& set_own_bytes) {
  std::vector<CheckResult> results(traffic.plan.pools.size());
  parallel_for(results.size(), [&](std::size_t pool) {
    for (const BoundView& view : traffic.views) {
      if (view.view.pool != static_cast<std::int64_t>(pool)) continue;
      fill(traffic, view.view.pool);
      operate(view);
      compare(traffic, view, target, set_own_bytes, results[pool]);
    }
  });
  CheckResult total{.unit = "bytes compared"};
  for (const CheckResult& result : results) {
    total.count += result.count;
    if (result.status == CheckStatus::failed) total.fail(result.message);
  }
  return total;
}

/// Operations on whole pages are what packed layers suffer from; where there are none, every layer does.
bool is_planted(const Traffic& traffic, const BoundView& view, Fault fault) {
  const bool has_packs = std::any_of(traffic.plan.specs.begin(), traffic.plan.specs.end(),
                                     [](const SpecPlan& spec) { return spec.layers_per_page > 1; });
  return traffic.fault == fault && (!has_packs || traffic.plan.specs[view.view.spec].layers_per_page > 1);
}

}  // namespace

std::vector<std::int64_t> block_ops_blocks(const CachePlan& plan) {
  std::vector<std::int64_t> blocks;
  for (std::int64_t block = std::max<std::int64_t>(0, plan.num_blocks - 3); block < plan.num_blocks; ++block)
    blocks.push_back(block);
  return blocks;
}

CheckResult check_zero_one_block(const Traffic& traffic) {
  // The middle of the last three, so that a page too many is caught on either side.
  const std::int64_t target = block_ops_blocks(traffic.plan)[block_ops_blocks(traffic.plan).size() / 2];
  const auto zero = [&](const BoundView& view) {
    if (is_planted(traffic, view, Fault::zero_full_page))
      zero_page_from_offset(traffic.pools, view, target, traffic.plan.page_bytes);
    else
      zero_block(traffic.pools, view, target);
  };
  return check_operation(traffic, target, zero, [](const BoundView& view, std::span<std::byte> page) {
    for_each_run(view.page_bytes(0), [&](std::int64_t begin, std::int64_t bytes) {
      std::fill_n(page.begin() + begin, bytes, std::byte{0});
    });
  });
}

CheckResult check_copy_one_block(const Traffic& traffic) {
  const std::vector<std::int64_t> blocks = block_ops_blocks(traffic.plan);
  const std::int64_t from = blocks.front();
  const std::int64_t to = blocks.back();
  CheckResult none{.status = CheckStatus::not_run, .unit = "bytes compared"};
  none.message = "the pools have a single block";
  if (from == to) return none;
  const auto copy = [&](const BoundView& view) {
    if (is_planted(traffic, view, Fault::copy_full_page))
      copy_page_from_offset(traffic.pools, view, from, to, traffic.plan.page_bytes);
    else
      copy_block(traffic.pools, view, from, to);
  };
  return check_operation(
      traffic, to, copy,
      [&](const BoundView& view, std::span<std::byte> page) {
        std::vector<std::byte> source(page.size());
        fill_canary(source, view.view.pool, from * traffic.plan.page_bytes);
        for_each_run(view.page_bytes(0), [&](std::int64_t begin, std::int64_t bytes) {
          std::copy_n(source.begin() + begin, bytes, page.begin() + begin);
        });
      });
}

}  // namespace hybridkv
