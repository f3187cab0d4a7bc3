#include "simulator/losses/token_exact_bound.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("edge: token-exact matching counts every shared token but the last of a prompt") {
  TokenExactBound bound;
  bound.consume(batch_of({{{1, 8}, {2, 5}}, {{1, 8}, {2, 5}}, {{1, 8}, {2, 9}}, {{1, 8}, {2, 7}}, {{1, 3}}, {{9, 4}}}));
  CHECK(bound.prompt_tokens() == 13 + 13 + 17 + 15 + 3 + 4);
  CHECK(bound.hit_tokens() == 0 + 12 + 13 + 14 + 2 + 0);
}

TEST_CASE("law: token-exact matching equals the longest common prefix with any earlier prompt") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Dice dice(seed);
    TokenExactBound bound;
    std::vector<std::vector<std::uint64_t>> earlier;
    for (const PromptSegments& prompt : random_prompts(dice, 20, 60)) {
      std::vector<std::uint64_t> tokens;
      for (const Segment& segment : prompt)
        for (std::int64_t i = 0; i < segment.tokens; ++i) tokens.push_back(segment.id * 1000 + tokens.size());
      std::int64_t longest = 0;
      for (const auto& other : earlier)
        longest = std::max<std::int64_t>(
            longest, std::mismatch(tokens.begin(), tokens.end(), other.begin(), other.end()).first - tokens.begin());
      REQUIRE(bound.match(batch_of({prompt}).runs) == std::min<std::int64_t>(longest, std::ssize(tokens) - 1));
      earlier.push_back(tokens);
    }
  }
}

TEST_CASE("law: no cache hits more than token-exact matching, an unlimited one evicts nothing") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Dice dice(seed);
    CacheGeometry geometry = random_geometry(dice);
    const TraceBatch batch = random_batch(dice, 25, 40, 0);
    TokenExactBound bound;
    bound.consume(batch);
    REQUIRE(run(geometry, {}, batch).stats.hit_tokens <= bound.hit_tokens());
    geometry.unlimited_pool = true;
    const SimulationStats unlimited = run(geometry, {}, batch).stats;
    REQUIRE(unlimited.hit_tokens <= bound.hit_tokens());
    REQUIRE(unlimited.pool.evictions == 0);
    REQUIRE(unlimited.refused + unlimited.stalled == 0);
  }
}

TEST_CASE("law: attention alone in blocks of one token, unlimited, reaches the bound") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Dice dice(seed);
    const TraceBatch batch = random_batch(dice, 25, 40, 0);
    TokenExactBound bound;
    bound.consume(batch);
    const CacheGeometry geometry{.block_size_tokens = 1, .num_blocks = 2, .unlimited_pool = true};
    REQUIRE(run(geometry, {}, batch).stats.hit_tokens == bound.hit_tokens());
  }
}
