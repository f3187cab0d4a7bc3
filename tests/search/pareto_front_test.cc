#include "search/pareto_front.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

using namespace hybridkv;

namespace {

std::vector<Objectives> random_points() {
  std::vector<Objectives> points(*rc::gen::inRange<std::size_t>(0, 40));
  for (Objectives& point : points)
    point = {*rc::gen::inRange<std::int64_t>(0, 6), *rc::gen::inRange<std::int64_t>(0, 6),
             static_cast<double>(*rc::gen::inRange(0, 6)) / 2};
  return points;
}

/// By the definition: every pair compared, objective by objective.
std::vector<std::size_t> front_ref(const std::vector<Objectives>& points) {
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < points.size(); ++i) {
    bool kept = true;
    for (std::size_t j = 0; j < points.size(); ++j) {
      const bool no_worse = points[j].reprefilled_tokens <= points[i].reprefilled_tokens &&
                            points[j].bytes_per_request <= points[i].bytes_per_request &&
                            points[j].concurrency >= points[i].concurrency;
      const bool equal = points[j].reprefilled_tokens == points[i].reprefilled_tokens &&
                         points[j].bytes_per_request == points[i].bytes_per_request &&
                         points[j].concurrency == points[i].concurrency;
      kept = kept && !(no_worse && !equal) && !(equal && j < i);
    }
    if (kept) front.push_back(i);
  }
  return front;
}

}  // namespace

TEST_CASE("law: the front is what comparing every pair leaves, and everything else is dominated by it or equal") {
  CHECK(rc::check("front = brute force", [] {
    const std::vector<Objectives> points = random_points();
    const std::vector<std::size_t> front = pareto_front(points);
    RC_ASSERT(front == front_ref(points));
    for (const Objectives& point : points)
      RC_ASSERT(std::any_of(front.begin(), front.end(), [&](std::size_t at) {
        return points[at] == point || dominates(points[at], point);
      }));
  }));
}

TEST_CASE("edge: no points, equal points, and more concurrency is better") {
  CHECK(pareto_front({}).empty());
  const std::vector<Objectives> points{{10, 5, 1}, {10, 5, 1}, {9, 6, 1}, {10, 6, 1}};
  CHECK(pareto_front(points) == std::vector<std::size_t>{0, 2});
  CHECK(dominates({1, 1, 2}, {1, 1, 1}));
  CHECK_FALSE(dominates({1, 1, 1}, {1, 1, 2}));
  CHECK_FALSE(dominates({1, 1, 1}, {1, 1, 1}));
}

TEST_CASE("fault: a front that forgets one objective is told from the real one") {
  const std::vector<Objectives> points{{1, 1, 1}, {1, 1, 2}};
  CHECK(pareto_front(points) == std::vector<std::size_t>{1});
  std::vector<Objectives> without = points;
  for (Objectives& point : without) point.concurrency = 0;
  CHECK(pareto_front(without) != front_ref(points));
}
