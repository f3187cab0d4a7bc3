#include "planner/group_runs.h"

#include <fmt/format.h>

namespace hybridkv {

namespace {

template <class Item, class Alike>
std::vector<PlanRun> runs_of(const std::vector<Item>& items, Alike alike) {
  std::vector<PlanRun> runs;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!runs.empty() && alike(items[runs.back().first], items[i]))
      ++runs.back().count;
    else
      runs.push_back({i, 1});
  }
  return runs;
}

std::vector<std::int64_t> layers_of_specs(const PoolPlan& pool, std::size_t num_specs) {
  std::vector<std::int64_t> counts(num_specs, 0);
  for (const LayerRef& layer : pool.shared_by) ++counts.at(static_cast<std::size_t>(layer.spec));
  return counts;
}

}  // namespace

std::string PlanRun::numbers() const {
  return count == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, first + count - 1);
}

std::vector<PlanRun> group_runs(const Arrangement& plan) {
  return runs_of(plan.groups, [](const GroupPlan& a, const GroupPlan& b) {
    return a.spec == b.spec && a.padding_positions == b.padding_positions && a.pages.size() == b.pages.size() &&
           a.layers().size() == b.layers().size() && a.first_lane == b.first_lane && a.in_lane == b.in_lane &&
           a.shares_table == b.shares_table && a.hole_bytes == b.hole_bytes && a.tensor == b.tensor;
  });
}

std::vector<PlanRun> pool_runs(const Arrangement& plan) {
  return runs_of(plan.pools, [&](const PoolPlan& a, const PoolPlan& b) {
    return a.bytes == b.bytes && a.shared_by.size() == b.shared_by.size() &&
           layers_of_specs(a, plan.specs.size()) == layers_of_specs(b, plan.specs.size());
  });
}

}  // namespace hybridkv
