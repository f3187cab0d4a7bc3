// What each eviction policy does, on traces small enough to follow by hand.
#include "simulator/blocks/match_unit_rules.h"
#include "simulator/pool/kept_prefixes.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Blocks of two tokens, one attention group and one recurrent group. A prompt of k blocks and a token leaves k blocks
/// of K and V and one state, and takes one more of either while it runs.
CacheGeometry small_cache(std::int64_t usable_blocks, EvictionPolicy policy) {
  CacheGeometry geometry{.block_size_tokens = 2, .num_blocks = usable_blocks + 1, .state_groups = 1};
  geometry.scheduler.eviction = policy;
  geometry.scheduler.branch_point = false;
  return geometry;
}

/// A prompt of whole blocks by their contents, and one token.
PromptSegments prompt(const std::vector<std::uint64_t>& blocks) {
  static std::uint64_t last = 1000;
  PromptSegments segments;
  for (const std::uint64_t id : blocks) segments.push_back({id, 2});
  segments.push_back({++last, 1});
  return segments;
}

/// Tokens that each prompt finds.
std::vector<std::int64_t> found(const CacheGeometry& geometry, const std::vector<PromptSegments>& prompts) {
  std::vector<std::int64_t> tokens;
  for (const RequestRecord& record : run(geometry, {}, batch_of(prompts)).records) tokens.push_back(record.hit_tokens);
  return tokens;
}

std::int64_t last_found(const CacheGeometry& geometry, const std::vector<PromptSegments>& prompts) {
  return found(geometry, prompts).back();
}

constexpr EvictionPolicy ranked[] = {EvictionPolicy::prefixes,      EvictionPolicy::cost,
                                     EvictionPolicy::frequency,     EvictionPolicy::second_chance,
                                     EvictionPolicy::time_to_live,  EvictionPolicy::worth};

}  // namespace

TEST_CASE("edge: K and V that no state can resume from go first, whatever the policy") {
  // The last state of each prompt lies one block before its end, so nothing ever resumes behind it.
  const std::vector<PromptSegments> prompts{prompt({1, 2, 3}), prompt({4, 5, 6}), prompt({7}), prompt({1, 2, 3})};
  const auto cache = [](EvictionPolicy policy) {
    CacheGeometry geometry = small_cache(9, policy);
    geometry.scheduler.checkpoint_back = 1;
    return geometry;
  };
  // Four blocks stay of each of the first two; the second one takes one of the first's, the third one more.
  CHECK(last_found(cache(EvictionPolicy::lru), prompts) == 0);
  for (const EvictionPolicy policy : ranked) {
    CAPTURE(to_string(policy));
    CHECK(last_found(cache(policy), prompts) == 4);
  }
}

TEST_CASE("edge: a state that its conversation has passed goes before anything older") {
  const std::vector<PromptSegments> prompts{prompt({1, 2}), prompt({3, 4}), prompt({3, 4, 5, 6}), prompt({7}),
                                            prompt({1, 2})};
  // The fourth takes one block of those that can be found.
  CHECK(last_found(small_cache(12, EvictionPolicy::lru), prompts) == 0);
  for (const EvictionPolicy policy : ranked) {
    CAPTURE(to_string(policy));
    CHECK(last_found(small_cache(12, policy), prompts) == 4);
  }
}

TEST_CASE("edge: what several conversations went on from is not passed") {
  const std::vector<PromptSegments> prompts{prompt({1}), prompt({1, 2}), prompt({1, 3}), prompt({9}), prompt({1, 4})};
  for (const EvictionPolicy policy : ranked) {
    CAPTURE(to_string(policy));
    // The fourth takes one block: of the second prompt, not the state that both went on from.
    CHECK(last_found(small_cache(9, policy), prompts) == 2);
  }
}

TEST_CASE("edge: where prompts part before the state there is kept, one that goes on from it does not pass it") {
  const std::vector<PromptSegments> prompts{prompt({1, 2}), prompt({1, 3, 4}), prompt({1}), prompt({1, 2}),
                                            prompt({1, 3, 5})};
  for (const EvictionPolicy policy : {EvictionPolicy::prefixes, EvictionPolicy::cost, EvictionPolicy::worth})
    CHECK(found(small_cache(8, policy), prompts) == std::vector<std::int64_t>{0, 0, 0, 2, 2});
}

TEST_CASE("edge: second copies of a block go before anything older") {
  // No state lies where the third prompt parts from the second: it computes two blocks again that are there.
  const std::vector<PromptSegments> prompts{prompt({5, 6}), prompt({1, 2, 3}), prompt({1, 2, 4}), prompt({7}),
                                            prompt({5, 6})};
  CHECK(last_found(small_cache(13, EvictionPolicy::lru), prompts) == 0);
  for (const EvictionPolicy policy : ranked) {
    CAPTURE(to_string(policy));
    CHECK(last_found(small_cache(13, policy), prompts) == 4);
  }
}

TEST_CASE("edge: a second copy of a block is needed as the first one was, once that one is gone") {
  // The second prompt computes three blocks again beside those of the first, the state of which goes for its own. Its
  // last token takes the place of the fourth and the third block of the first prompt, so the third is there once.
  const std::vector<PromptSegments> prompts{prompt({1, 2, 3, 4}), prompt({1, 2, 3}), prompt({9}), prompt({1, 2, 3})};
  for (const EvictionPolicy policy : ranked) {
    CAPTURE(to_string(policy));
    CHECK(found(small_cache(8, policy), prompts) == std::vector<std::int64_t>{0, 0, 0, 6});
  }
}

TEST_CASE("edge: the prefix that nobody went on from for longest goes whole") {
  std::vector<PromptSegments> prompts{prompt({1, 2}), prompt({3, 4}), prompt({1, 2}), prompt({5, 6}), prompt({1, 2})};
  CHECK(last_found(small_cache(9, EvictionPolicy::prefixes), prompts) == 4);
  prompts.back() = prompt({3, 4});
  CHECK(last_found(small_cache(9, EvictionPolicy::prefixes), prompts) == 0);
}

TEST_CASE("edge: by cost, a short prompt goes before a long one used earlier") {
  const std::vector<PromptSegments> prompts{prompt({1, 2, 3, 4, 5, 6}), prompt({7}), prompt({8}),
                                            prompt({1, 2, 3, 4, 5, 6})};
  CHECK(last_found(small_cache(11, EvictionPolicy::prefixes), prompts) == 0);
  CHECK(last_found(small_cache(11, EvictionPolicy::cost), prompts) == 12);
}

TEST_CASE("edge: by frequency, what was used goes after what is newer") {
  const std::vector<PromptSegments> prompts{prompt({1}), prompt({1}), prompt({1}), prompt({2}), prompt({3}),
                                            prompt({4}), prompt({1})};
  CHECK(last_found(small_cache(8, EvictionPolicy::prefixes), prompts) == 0);
  CHECK(last_found(small_cache(8, EvictionPolicy::frequency), prompts) == 2);
  CHECK(last_found(small_cache(8, EvictionPolicy::worth), prompts) == 2);
}

TEST_CASE("edge: frequency ages: what was used long ago goes in the end") {
  std::vector<PromptSegments> prompts{prompt({1}), prompt({1}), prompt({1})};
  for (std::uint64_t id = 2; id < 20; ++id) prompts.push_back(prompt({id}));
  prompts.push_back(prompt({1}));
  CHECK(last_found(small_cache(8, EvictionPolicy::frequency), prompts) == 0);
}

TEST_CASE("edge: a second chance for what was used, none for a scan") {
  std::vector<PromptSegments> prompts{prompt({1}), prompt({1})};
  for (std::uint64_t id = 2; id < 12; ++id) prompts.push_back(prompt({id}));
  prompts.push_back(prompt({1}));
  CHECK(last_found(small_cache(12, EvictionPolicy::prefixes), prompts) == 0);
  CHECK(last_found(small_cache(12, EvictionPolicy::second_chance), prompts) == 2);
}

TEST_CASE("edge: a prefix that has another round goes after those that wait for theirs, and without one before them") {
  // A prompt of one block and another one that goes on from it leave two blocks and a state, twice: with what the first
  // prompts' states and a running request take that is all there is, so the last but one takes the place of one of the
  // two. That is the older one, unless somebody used it.
  std::vector<PromptSegments> prompts{prompt({1}), prompt({1, 2}), prompt({3}), prompt({3, 4}), prompt({9}),
                                      prompt({1, 2})};
  CHECK(last_found(small_cache(9, EvictionPolicy::second_chance), prompts) == 0);
  prompts.insert(prompts.begin() + 4, prompt({1, 2}));
  CHECK(last_found(small_cache(9, EvictionPolicy::second_chance), prompts) == 4);
}

TEST_CASE("edge: time to live follows what came back so far of the same kind") {
  // Short prompts come back once, long ones never; then one of each, the long one last, and too little room.
  std::vector<PromptSegments> prompts;
  for (std::uint64_t i = 0; i < 60; ++i) {
    prompts.push_back(prompt({100 + i}));
    prompts.push_back(prompt({200 + i, 300 + i, 400 + i, 500 + i}));
    prompts.push_back(prompt({100 + i}));
  }
  prompts.push_back(prompt({1}));
  for (std::uint64_t i = 0; i < 5; ++i) prompts.push_back(prompt({10 + i, 20 + i, 30 + i, 40 + i}));
  prompts.push_back(prompt({1}));
  CHECK(last_found(small_cache(24, EvictionPolicy::prefixes), prompts) == 0);
  CHECK(last_found(small_cache(24, EvictionPolicy::time_to_live), prompts) == 2);
}

TEST_CASE("edge: worth keeps the later turn of a conversation longer than first turns") {
  std::vector<PromptSegments> prompts;
  std::uint64_t id = 100;
  const auto others = [&](int count) {
    for (; count > 0; --count, id += 6) prompts.push_back(prompt({id, id + 1, id + 2, id + 3, id + 4, id + 5}));
  };
  // A turn comes back after four others, the last one after six.
  prompts.push_back(prompt({1, 2}));
  others(4);
  prompts.push_back(prompt({1, 2, 3, 4}));
  others(4);
  prompts.push_back(prompt({1, 2, 3, 4, 5, 6}));
  others(6);
  prompts.push_back(prompt({1, 2, 3, 4, 5, 6, 7, 8}));
  CHECK(last_found(small_cache(46, EvictionPolicy::prefixes), prompts) == 0);
  CHECK(last_found(small_cache(46, EvictionPolicy::worth), prompts) == 12);
}

TEST_CASE("edge: worth counts the memory of a prefix without the blocks that another one shares with it") {
  // Six common blocks, one of its own for either prompt: what goes with either is that one, against eight of the next.
  const std::vector<PromptSegments> prompts{prompt({1, 2, 3, 4, 5, 6, 7}), prompt({1, 2, 3, 4, 5, 6, 8}),
                                            prompt({20, 21, 22, 23, 24, 25, 26, 27}), prompt({50, 51, 52}),
                                            prompt({60, 61, 62}), prompt({1, 2, 3, 4, 5, 6, 8})};
  CHECK(last_found(small_cache(21, EvictionPolicy::worth), prompts) == 14);
  CHECK(last_found(small_cache(21, EvictionPolicy::prefixes), prompts) == 0);
}

TEST_CASE("edge: in a cache of states alone a long prompt is worth more than newer short ones") {
  CacheGeometry states = small_cache(3, EvictionPolicy::worth);
  states.attention_groups = 0;
  CHECK(last_found(states, {prompt({1, 2, 3, 4, 5, 6}), prompt({50}), prompt({51}), prompt({1, 2, 3, 4, 5, 6})}) == 12);
}

TEST_CASE("edge: the last state of a prompt is kept so many checkpoints before its last boundary") {
  CacheGeometry geometry = small_cache(40, EvictionPolicy::lru);
  // The next prompt shares three of four blocks.
  const std::vector<PromptSegments> prompts{prompt({1, 2, 3, 4}), prompt({1, 2, 3, 5})};
  CHECK(last_found(geometry, prompts) == 0);
  geometry.scheduler.checkpoint_back = 1;
  CHECK(last_found(geometry, prompts) == 6);
  geometry.scheduler.checkpoint_back = 2;
  CHECK(last_found(geometry, prompts) == 4);
  geometry.scheduler.checkpoint_back = 4;
  CHECK(last_found(geometry, prompts) == 0);
}

TEST_CASE("fault: a policy needs states, a state moved back mode align by the rules of June") {
  const auto path_of = [](const CacheGeometry& geometry) {
    try {
      validate(geometry);
    } catch (const SpecError& error) {
      return error.path();
    }
    return std::string("valid");
  };
  CacheGeometry geometry = small_cache(10, EvictionPolicy::worth);
  CHECK(path_of(geometry) == "valid");
  geometry.mode = CacheMode::none;
  CHECK(path_of(geometry) == "geometry.eviction");
  geometry.mode = CacheMode::align;
  geometry.state_groups = 0;
  CHECK(path_of(geometry) == "geometry.eviction");
  geometry = small_cache(10, EvictionPolicy::worth);
  geometry.more_arenas = {11};
  geometry.state_arenas = {1};
  CHECK(path_of(geometry) == "valid");
  geometry.blocks_per_large_page = {1, 1};
  CHECK(path_of(geometry) == "geometry.eviction");
  geometry = small_cache(10, EvictionPolicy::lru);
  geometry.scheduler.checkpoint_back = 1;
  CHECK(path_of(geometry) == "valid");
  geometry.mode = CacheMode::all;
  CHECK(path_of(geometry) == "geometry.checkpoint_back");
  geometry.mode = CacheMode::align;
  geometry.rules.blocks = &match_unit_rules;
  CHECK(path_of(geometry) == "geometry.checkpoint_back");
  geometry.rules.blocks = &plain_block_rules;
  geometry.scheduler.checkpoint_back = -1;
  CHECK(path_of(geometry) == "geometry.checkpoint_back");
}

TEST_CASE("law: a replay by any policy is the same every time, and that of a pool that never evicts is none's") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    const TraceBatch batch = random_batch(dice, 60, 40, 0);
    CacheGeometry geometry = small_cache(60, EvictionPolicy::lru);
    geometry.unlimited_pool = true;
    const std::int64_t most = run(geometry, {}, batch).stats.hit_tokens;
    for (const EvictionPolicy policy : ranked) {
      CAPTURE(to_string(policy));
      geometry.scheduler.eviction = policy;
      geometry.unlimited_pool = true;
      CHECK(run(geometry, {}, batch).stats.hit_tokens == most);
      geometry.unlimited_pool = false;
      CHECK(run(geometry, {}, batch).stats == run(geometry, {}, batch).stats);
    }
  }
}

TEST_CASE("golden: blocks of several match units stay with the prefix that ends in them") {
  // Beside two prompts of four blocks and a state there is room for two more; the third one, which runs on seven, takes
  // the place of the second alone.
  CacheGeometry geometry = small_cache(12, EvictionPolicy::prefixes);
  geometry.block_size_tokens = 4;
  const auto of_blocks = [](std::uint64_t first) {
    PromptSegments segments = prompt({first, first + 1, first + 2, first + 3});
    for (std::size_t block = 0; block < 4; ++block) segments[block] = {first + block, 4};
    return segments;
  };
  for (const std::int64_t unit : {4, 2}) {
    CAPTURE(unit);
    geometry.match_unit_tokens = unit;
    CHECK(last_found(geometry, {of_blocks(1), of_blocks(5), of_blocks(1), of_blocks(9), of_blocks(1)}) == 16);
  }
}

TEST_CASE("edge: a prefix that gets its key with the token that ends the request is kept like any other") {
  // Keys cover the token behind a prefix, for the drafter: that of the one block of the prompt is known once the first
  // token is sampled, and nobody schedules the request after that.
  CacheGeometry geometry = small_cache(20, EvictionPolicy::prefixes);
  geometry.rules.blocks = &match_unit_rules;
  geometry.rules.lookahead_tokens = 1;
  geometry.speculative_tokens = 1;
  Simulation simulation(geometry, {}, [](const RequestRecord&) {});
  simulation.consume(batch_of({{{1, 2}}}));
  simulation.finish();
  const KeptPrefixes* const kept = simulation.scheduler().cache().kept();
  REQUIRE(kept != nullptr);
  CHECK(kept->num_kept() == 1);
}

TEST_CASE("edge: a policy knows the blocks that were used, not those of the largest pool there is") {
  for (const EvictionPolicy policy : ranked)
    CHECK(found(small_cache((std::int64_t{1} << 31) - 1, policy), {prompt({1, 2, 3}), prompt({1, 2, 3})}) ==
          std::vector<std::int64_t>{0, 6});
}
