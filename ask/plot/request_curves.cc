#include "ask/plot/request_curves.h"

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "base/error.h"
#include "planner/capacity.h"
#include "planner/plan_facts.h"
#include "planner/primary_attention.h"

namespace hybridkv {

namespace {

constexpr std::int64_t most_stairs = 400;

/// Lengths at which a request of the plan begins a block, and the tokens before: the corners of its stairs.
std::set<std::int64_t> corners(const CachePlan& plan, std::int64_t longest) {
  std::set<std::int64_t> lengths{1, longest};
  const std::int64_t block = primary_block_tokens(plan);
  const std::int64_t blocks_a_step = ceil_div(ceil_div(longest, block), most_stairs);
  const std::int64_t step = Checked(block) * blocks_a_step;
  for (std::int64_t at = step; at < longest; at += step) {
    lengths.insert(at);
    lengths.insert(at + 1);
  }
  return lengths;
}

std::vector<std::int64_t> concurrency_lengths(const PlanSet& set) {
  std::set<std::int64_t> lengths;
  for (const CapacityPlan& capacity : set.plans.front().capacity) lengths.insert(capacity.max_model_len);
  if (lengths.size() == 1) {
    const std::int64_t longest = *lengths.begin();
    for (const std::int64_t part : {4, 16, 64}) lengths.insert(std::max<std::int64_t>(1, longest / part));
  }
  return {lengths.begin(), lengths.end()};
}

}  // namespace

RequestBytes request_bytes(const PlanSet& set) {
  const std::int64_t longest = longest_length(set);
  std::vector<std::set<std::int64_t>> own_corners;
  std::set<std::int64_t> all;
  for (const CachePlan& plan : set.plans) {
    own_corners.push_back(corners(plan, longest));
    all.insert(own_corners.back().begin(), own_corners.back().end());
  }
  RequestBytes curves{.lengths = {all.begin(), all.end()}, .ideal_bytes = {}, .bytes = {}};
  for (std::size_t i = 0; i < set.plans.size(); ++i) {
    std::vector<std::optional<std::int64_t>>& bytes = curves.bytes.emplace_back();
    for (const std::int64_t length : curves.lengths) {
      const CapacityPlan capacity = capacity_at(set.plans[i], length, TokenRule::concurrency);
      if (i == 0) curves.ideal_bytes.push_back(capacity.ideal_bytes_per_request);
      bytes.push_back(own_corners[i].contains(length) ? std::optional(capacity.bytes_per_request) : std::nullopt);
    }
  }
  return curves;
}

ConcurrencyCurves concurrency_curves(const PlanSet& set) {
  expects(!set.plans.empty(), "a plot shows at least one plan");
  ConcurrencyCurves curves{.lengths = concurrency_lengths(set), .requests = {}};
  for (const CachePlan& plan : set.plans) {
    std::vector<double>& requests = curves.requests.emplace_back();
    for (const std::int64_t length : curves.lengths)
      requests.push_back(capacity_at(plan, length, TokenRule::concurrency).usable_concurrency);
  }
  return curves;
}

}  // namespace hybridkv
