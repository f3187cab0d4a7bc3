// Which neighbours tables and derivations show once.
#include "planner/group_runs.h"

#include <doctest/doctest.h>

using namespace hybridkv;

namespace {

std::vector<std::string> numbers_of(const std::vector<PlanRun>& runs) {
  std::vector<std::string> numbers;
  for (const PlanRun& run : runs) numbers.push_back(run.numbers());
  return numbers;
}

}  // namespace

TEST_CASE("golden: neighbouring pools are one run where as many layers of each spec share them") {
  Arrangement plan;
  plan.specs.resize(2);
  const auto add = [&](std::int64_t bytes, std::vector<LayerRef> layers) {
    plan.pools.push_back({.bytes = bytes, .shared_by = std::move(layers)});
  };
  add(100, {{0, 0}, {0, 1}, {1, 2}});
  add(100, {{0, 4}, {0, 5}, {1, 6}});  // as the one before it, but for the numbers of its layers
  add(100, {{0, 8}, {1, 9}, {1, 10}});  // as many layers, but not of each spec
  add(100, {{0, 12}, {1, 13}});
  add(50, {{0, 14}, {1, 15}});
  CHECK(numbers_of(pool_runs(plan)) == std::vector<std::string>{"0-1", "2", "3", "4"});
}
