// What is said of the pick of an engine with a radix tree.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "report/recommend/recommend_report.h"
#include "tests/ask/engine_recommendations.h"

using namespace hybridkv;

namespace {

/// Is it said to be a cost of a pick of that strategy that states are kept at few places?
bool few_places_cost(TreeStrategy strategy, CacheMode mode) {
  static const RecommendAnswer searched = *testing::recommended("sglang-0.5.23").answer;
  RecommendAnswer answer = searched;
  CachePlan& plan = answer.result.layouts[answer.picked().layout].plan;
  plan.tree_pools->strategy = strategy;
  plan.cache_mode = mode;
  const std::vector<std::string> costs = recommend_reasons(answer).costs;
  return std::any_of(costs.begin(), costs.end(), [](const std::string& cost) {
    return cost.starts_with("no_buffer keeps states only where chunks and requests end");
  });
}

}  // namespace

TEST_CASE("edge: what no_buffer costs is said of a pick with it that keeps states, and of no other") {
  CHECK(few_places_cost(TreeStrategy::no_buffer, CacheMode::align));
  CHECK_FALSE(few_places_cost(TreeStrategy::no_buffer, CacheMode::none));
  CHECK_FALSE(few_places_cost(TreeStrategy::extra_buffer, CacheMode::align));
}
