#include "simulator/trace/chain_hash.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("edge: keys stand at every multiple of the unit, whatever the runs") {
  const TraceBatch batch = batch_of({{{1, 512}, {2, 188}}});
  std::vector<PrefixKey> keys;
  prefix_keys(batch.runs, 300, keys);
  CHECK(keys == std::vector{prefix_key(batch.runs[0].chain, 300), prefix_key(batch.runs[1].chain, 600)});
  prefix_keys(batch.runs, 700, keys);
  CHECK(keys.size() == 1);
  prefix_keys(batch.runs, 701, keys);
  CHECK(keys.empty());
}

TEST_CASE("edge: a prompt without tokens has no keys, whatever stood in their place") {
  std::vector<PrefixKey> keys{11, 12};
  prefix_keys({}, 4, keys);
  CHECK(keys.empty());
}

TEST_CASE("edge: keys that look ahead tell apart what comes behind, and are there once it is known") {
  const TraceBatch batch = batch_of({{{1, 8}, {2, 4}}, {{1, 8}, {3, 4}}});
  std::vector<PrefixKey> first, second;
  prefix_keys(batch.prompt(batch.requests[0]), 4, first);
  prefix_keys(batch.prompt(batch.requests[1]), 4, second);
  CHECK((first[1] == second[1] && first[2] != second[2]));
  prefix_keys(batch.prompt(batch.requests[0]), 4, first, 1);
  prefix_keys(batch.prompt(batch.requests[1]), 4, second, 1);
  REQUIRE(first.size() == 2);
  CHECK((first[0] == second[0] && first[1] != second[1]));
  prefix_keys(batch.prompt(batch.requests[0]), 4, first, 5);
  CHECK(first.size() == 1);
  prefix_keys(batch.prompt(batch.requests[0]), 4, first, 13);
  CHECK(first.empty());
}

TEST_CASE("edge: a prompt cut inside an id shares every prefix up to the cut, and none behind it") {
  const TraceBatch batch = batch_of({{{1, 8}, {2, 8}}, {{1, 8}, {2, 3}, {9, 5}}, {{1, 7}, {2, 9}}});
  std::vector<PrefixKey> whole, cut, moved;
  prefix_keys(batch.prompt(batch.requests[0]), 1, whole);
  prefix_keys(batch.prompt(batch.requests[1]), 1, cut);
  prefix_keys(batch.prompt(batch.requests[2]), 1, moved);
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK((whole[i] == cut[i]) == (i < 11));
    CHECK((whole[i] == moved[i]) == (i < 7));  // id 2 at another position is other content
  }
}

TEST_CASE("law: two prompts have the same key exactly where all tokens before agree, at any unit") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Dice dice(seed);
    const std::int64_t unit = dice.roll(1, 7);
    std::map<PrefixKey, std::vector<std::uint64_t>> seen;
    for (const PromptSegments& prompt : random_prompts(dice, 12, 50)) {
      std::vector<std::uint64_t> tokens;
      for (const Segment& segment : prompt)
        for (std::int64_t i = 0; i < segment.tokens; ++i) tokens.push_back(segment.id * 1000 + tokens.size());
      const TraceBatch batch = batch_of({prompt});
      std::vector<PrefixKey> keys;
      prefix_keys(batch.runs, unit, keys);
      REQUIRE(std::ssize(keys) == std::ssize(tokens) / unit);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        const std::vector<std::uint64_t> prefix(tokens.begin(),
                                                tokens.begin() + static_cast<std::int64_t>(i + 1) * unit);
        REQUIRE(seen.try_emplace(keys[i], prefix).first->second == prefix);
      }
    }
    std::map<std::vector<std::uint64_t>, PrefixKey> reversed;
    for (const auto& [key, prefix] : seen) REQUIRE(reversed.emplace(prefix, key).second);
  }
}

TEST_CASE("law: the mixing function has no collisions among 10^6 small arguments") {
  std::vector<std::uint64_t> values;
  for (std::uint64_t a = 0; a < 1000; ++a)
    for (std::uint64_t b = 0; b < 1000; ++b) values.push_back(mix64(a, b));
  std::sort(values.begin(), values.end());
  CHECK(std::adjacent_find(values.begin(), values.end()) == values.end());
}
