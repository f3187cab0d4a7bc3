// The best places for states, beside every choice there is.
#include "search/checkpoint_positions.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <random>

using namespace hybridkv;

namespace {

std::vector<SharedDepth> random_depths(std::mt19937_64& random) {
  std::vector<SharedDepth> depths;
  std::int64_t depth = 0;
  for (std::uint64_t count = random() % 9; count > 0; --count) {
    depth += 1 + static_cast<std::int64_t>(random() % 12);
    depths.push_back({depth, static_cast<double>(random() % 7)});
  }
  return depths;
}

/// The least that any choice of at most so many of the depths leaves to compute.
double least_of_all(const std::vector<SharedDepth>& depths, std::int64_t most) {
  double least = recomputed_units(depths, {});
  for (std::uint32_t chosen = 0; chosen < 1U << depths.size(); ++chosen) {
    if (std::popcount(chosen) > most) continue;
    std::vector<std::int64_t> positions;
    for (std::size_t i = 0; i < depths.size(); ++i)
      if ((chosen >> i & 1U) != 0) positions.push_back(depths[i].depth);
    least = std::min(least, recomputed_units(depths, positions));
  }
  return least;
}

}  // namespace

TEST_CASE("law: no choice of positions leaves less to compute, 2000 random workloads") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const std::vector<SharedDepth> depths = random_depths(random);
    for (std::int64_t most = 0; most <= 5; ++most) {
      const CheckpointPositions best = best_positions(depths, most);
      REQUIRE(std::ssize(best.positions) <= most);
      REQUIRE(std::is_sorted(best.positions.begin(), best.positions.end()));
      REQUIRE(best.recomputed == recomputed_units(depths, best.positions));
      REQUIRE(best.recomputed == least_of_all(depths, most));
    }
  }
}

TEST_CASE("edge: one state serves the many who share much; a second one the few who share less") {
  const std::vector<SharedDepth> depths{{10, 1}, {100, 9}};
  CHECK(best_positions(depths, 0) == CheckpointPositions{{}, 910});
  CHECK(best_positions(depths, 1) == CheckpointPositions{{100}, 10});
  CHECK(best_positions(depths, 2) == CheckpointPositions{{10, 100}, 0});
  CHECK(best_positions(depths, 9) == CheckpointPositions{{10, 100}, 0});
  CHECK(best_positions({}, 3) == CheckpointPositions{});
}

TEST_CASE("edge: a state behind what is shared finds nothing") {
  const std::vector<SharedDepth> depths{{10, 1}, {100, 9}};
  const std::vector<std::int64_t> behind{101};
  CHECK(recomputed_units(depths, behind) == 910);
}
