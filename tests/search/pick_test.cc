#include "search/pick.h"

#include <doctest/doctest.h>

#include <vector>

using namespace hybridkv;

namespace {

constexpr std::int64_t prompt_tokens = 100'000;
const PickRule rule{.most_given_up = 0.05, .alike = 0.005};

std::size_t pick(const std::vector<PickPoint>& points, double least = 0) {
  return pick_of(points, least, prompt_tokens, rule);
}

}  // namespace

TEST_CASE("golden: fewest re-prefilled tokens among those that hold the concurrency") {
  const std::vector<PickPoint> points{{{9000, 100, 50}, 0}, {{2000, 110, 45}, 1}, {{1000, 200, 20}, 2}};
  CHECK(pick(points) == 2);
  CHECK(pick(points, 40) == 1);
  CHECK(pick(points, 47) == 0);
}

TEST_CASE("edge: where none holds the concurrency, the one that holds most") {
  CHECK(pick({{{9000, 100, 50}, 0}, {{2000, 110, 45}, 1}}, 60) == 0);
}

TEST_CASE("golden: within 0.5 % of the prompt tokens bytes decide, within 0.5 % of the bytes the fewer changes") {
  CHECK(pick({{{1000, 200, 20}, 0}, {{1500, 100, 20}, 0}}) == 1);
  CHECK(pick({{{1000, 200, 20}, 0}, {{1501, 100, 20}, 0}}) == 0);
  CHECK(pick({{{1000, 1000, 20}, 2}, {{1000, 1005, 21}, 1}}) == 1);
  CHECK(pick({{{1000, 1000, 20}, 2}, {{1000, 1006, 21}, 1}}) == 0);
}

TEST_CASE("edge: ties go to fewer bytes, then to fewer tokens, then to the first") {
  CHECK(pick({{{1000, 1001, 20}, 1}, {{1001, 1000, 20}, 1}}) == 1);
  CHECK(pick({{{1001, 1000, 20}, 1}, {{1000, 1000, 20}, 1}}) == 1);
  CHECK(pick({{{1000, 1000, 20}, 1}, {{1000, 1000, 20}, 1}}) == 0);
}
