#include "verify/untouched_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "verify/canary.h"
#include "verify/page_map.h"
#include "layout/parallel.h"

namespace hybridkv {

namespace {

std::vector<std::int64_t> unheld_blocks(const Traffic& traffic) {
  std::vector<std::int64_t> blocks{0};
  blocks.insert(blocks.end(), traffic.assignment.guards.begin(), traffic.assignment.guards.end());
  return blocks;
}

}  // namespace

void fill_canaries(const Traffic& traffic) {
  std::vector<std::int64_t> blocks = unheld_blocks(traffic);
  for (std::size_t group = 0; group < traffic.plan.groups.size(); ++group)
    for (std::int64_t block : traffic.assignment.held_by(group)) blocks.push_back(block);
  const std::size_t num_pools = traffic.plan.pools.size();
  parallel_for(blocks.size() * num_pools, [&](std::size_t i) {
    const auto pool = static_cast<std::int64_t>(i % num_pools);
    const std::int64_t block = blocks[i / num_pools];
    fill_canary(traffic.pools.page(pool, block), pool, block * traffic.plan.page_bytes);
  });
}

CheckResult check_padding(const Traffic& traffic) {
  const std::size_t num_pools = traffic.plan.pools.size();
  std::vector<CheckResult> results(traffic.plan.groups.size() * num_pools);
  parallel_for(results.size(), [&](std::size_t i) {
    const auto group = static_cast<std::int64_t>(i / num_pools);
    const auto pool = static_cast<std::int64_t>(i % num_pools);
    const PageMap map(traffic.plan, traffic.views, group, pool);
    CheckResult& result = results[i];
    for (std::int64_t block : traffic.assignment.held_by(group)) {
      const std::span<const std::byte> page = traffic.pools.page(pool, block);
      const std::int64_t first = block * traffic.plan.page_bytes;
      for (std::size_t k = 0; k < page.size(); ++k) {
        if (map.owners()[k] != PageMap::nobody) continue;
        ++result.count;
        const std::int64_t byte = first + static_cast<std::int64_t>(k);
        if (page[k] != canary_byte(pool, byte) && result.status == CheckStatus::passed)
          result.fail(fmt::format("padding of layer {}'s page, pool {}, block {}, byte {}: somebody wrote there",
                                  static_cast<std::size_t>(pool) < traffic.plan.groups[group].pages.size()
                                      ? traffic.plan.groups[group].pages[pool].front()
                                      : -1,
                                  pool, block, byte));
      }
    }
  });
  CheckResult total{.unit = "padding bytes"};
  for (const CheckResult& result : results) {
    total.count += result.count;
    if (result.status == CheckStatus::failed) total.fail(result.message);
  }
  return total;
}

CheckResult check_unheld_blocks(const Traffic& traffic) {
  CheckResult result{.unit = "bytes"};
  std::vector<std::byte> canary(traffic.plan.page_bytes);
  for (std::int64_t block : unheld_blocks(traffic)) {
    for (std::size_t pool = 0; pool < traffic.plan.pools.size(); ++pool) {
      const std::span<const std::byte> page = traffic.pools.page(pool, block);
      const std::int64_t first = block * traffic.plan.page_bytes;
      fill_canary(canary, pool, first);
      result.count += traffic.plan.page_bytes;
      const auto [wrong, right] = std::mismatch(page.begin(), page.end(), canary.begin());
      if (wrong == page.end()) continue;
      result.fail(fmt::format("{} block {} of pool {}, byte {}: somebody wrote there", block == 0 ? "the null" : "guard",
                              block, pool, first + (wrong - page.begin())));
    }
  }
  return result;
}

}  // namespace hybridkv
