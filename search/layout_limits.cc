#include "search/layout_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/bytes_text.h"
#include "base/error.h"
#include "planner/capacity.h"
#include "planner/plan.h"
#include "planner/primary_attention.h"

namespace hybridkv {

namespace {

double concurrency_of(const RecommendSpec& spec, const PlannedLayout& layout) {
  return capacity_of(layout.plan, spec.at_length).usable_concurrency;
}

/// The least memory and the longest length with which some layout would hold the requests demanded.
[[noreturn]] void refuse_concurrency(const RecommendSpec& spec, const std::vector<PlannedLayout>& layouts,
                                     const std::vector<std::size_t>& usable, const PlannedLayout& best) {
  const double wanted = spec.min_concurrency.value_or(1);
  std::int64_t least_memory = std::numeric_limits<std::int64_t>::max();
  std::int64_t longest = 0;
  for (const std::size_t i : usable) {
    const CachePlan& plan = layouts[i].plan;
    const CapacityPlan& capacity = capacity_of(plan, spec.at_length);
    double bytes = 0;
    const Demand demand = request_demand(plan, capacity.max_model_len);
    for (std::size_t arena = 0; arena < demand.ids.size(); ++arena)
      bytes += (std::ceil(wanted * static_cast<double>(demand.ids[arena])) + 1) *  // and the null id
               static_cast<double>(plan.arenas[arena].bytes_per_id);
    if (bytes < 0x1p62) least_memory = std::min(least_memory, static_cast<std::int64_t>(bytes));
    longest = std::max(longest, longest_request(plan, wanted));
  }
  std::string would = fmt::format("it takes {} of memory", bytes_text(least_memory));
  if (longest > 0) would += fmt::format(", or requests of at most {} tokens", longest);
  throw InputError(fmt::format(
      "no layout holds {} requests of {} tokens at once in {}; the most is {:.2f} (N = {}, block {}, mode {}); {}",
      wanted, spec.at_length, bytes_text(spec.engine.memory_bytes), concurrency_of(spec, best), best.pack,
      block_tokens(best), to_string(best.mode), would));
}

}  // namespace

std::int64_t kernel_block_of(const CachePlan& plan) {
  const SpecPlan* attention = primary_attention(plan);
  const bool has_kernel = attention != nullptr && attention->role() != SpecRole::auxiliary;
  return has_kernel ? attention->kernel_block_size_tokens : std::numeric_limits<std::int64_t>::max();
}

void check_limits(const RecommendSpec& spec, const std::vector<PlannedLayout>& layouts,
                  const std::vector<std::size_t>& searched) {
  std::vector<std::size_t> usable;
  std::int64_t largest_kernel_block = 0;
  for (const std::size_t i : searched) {
    const std::int64_t kernel_block = kernel_block_of(layouts[i].plan);
    largest_kernel_block = std::max(largest_kernel_block, kernel_block);
    if (kernel_block >= spec.min_kernel_block.value_or(1)) usable.push_back(i);
  }
  if (usable.empty())
    throw InputError(fmt::format("no layout has a kernel block of {} tokens or more; the largest is {}",
                                 *spec.min_kernel_block, largest_kernel_block));
  const PlannedLayout& best =
      layouts[*std::max_element(usable.begin(), usable.end(), [&](std::size_t a, std::size_t b) {
        return concurrency_of(spec, layouts[a]) < concurrency_of(spec, layouts[b]);
      })];
  if (concurrency_of(spec, best) < spec.min_concurrency.value_or(1)) refuse_concurrency(spec, layouts, usable, best);
}

}  // namespace hybridkv
