// A policy that is not ours decides which prefix goes and of which states are kept, on traces small enough to follow by
// hand and on random ones.
#include "simulator/pool/own_policy.h"

#include <doctest/doctest.h>

#include <functional>
#include <limits>

#include "simulator/blocks/invariants.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Made of functions; those that are not set answer as a policy that has none of them.
struct TestPolicy final : PrefixPolicy {
  std::function<double(const PrefixFacts&)> of_rank = [](const PrefixFacts& prefix) { return prefix.since; };
  std::function<bool(const PrefixFacts&)> of_keeps = [](const PrefixFacts&) { return true; };
  std::function<void(const PrefixFacts&)> of_used = [](const PrefixFacts&) {};
  std::function<void(const PrefixFacts&)> of_went = [](const PrefixFacts&) {};

  double rank(const PrefixFacts& prefix) override { return of_rank(prefix); }
  bool keeps(const PrefixFacts& prefix) override { return of_keeps(prefix); }
  void used(const PrefixFacts& prefix) override { of_used(prefix); }
  void went(const PrefixFacts& prefix) override { of_went(prefix); }
};

/// Blocks of two tokens, one attention group and one recurrent group.
CacheGeometry own_cache(std::int64_t usable_blocks, const TestPolicy& policy) {
  CacheGeometry geometry{.block_size_tokens = 2, .num_blocks = usable_blocks + 1, .state_groups = 1};
  geometry.scheduler.own_policy =
      std::make_shared<OwnPolicy>(OwnPolicy{"own", [policy] { return std::make_unique<TestPolicy>(policy); }});
  geometry.scheduler.branch_point = false;
  return geometry;
}

/// A prompt of whole blocks by their contents, and one token that no other one has.
PromptSegments whole_blocks(const std::vector<std::uint64_t>& blocks) {
  static std::uint64_t last = 1'000'000;
  PromptSegments segments;
  for (const std::uint64_t id : blocks) segments.push_back({id, 2});
  segments.push_back({++last, 1});
  return segments;
}

std::vector<std::int64_t> hits(const CacheGeometry& geometry, const std::vector<PromptSegments>& prompts) {
  std::vector<std::int64_t> tokens;
  for (const RequestRecord& record : run(geometry, {}, batch_of(prompts)).records) tokens.push_back(record.hit_tokens);
  return tokens;
}

}  // namespace

TEST_CASE("edge: the prefix of the lowest rank goes first, whatever it was used for") {
  // Two blocks of K and V and a state stay of each; the third prompt takes what one of them has.
  const std::vector<PromptSegments> prompts{whole_blocks({1, 2}), whole_blocks({3, 4}), whole_blocks({5, 6})};
  const auto left = [&](const TestPolicy& policy) {
    std::vector<PromptSegments> asked = prompts;
    asked.push_back(whole_blocks({1, 2}));
    return hits(own_cache(9, policy), asked).back();
  };
  TestPolicy oldest_first, newest_first;
  newest_first.of_rank = [](const PrefixFacts& prefix) { return -prefix.since; };
  CHECK(left(oldest_first) == 0);
  CHECK(left(newest_first) == 4);
}

TEST_CASE("edge: states that a policy does not keep go first, those that nobody needs the room of are found") {
  TestPolicy long_ones;
  long_ones.of_keeps = [](const PrefixFacts& prefix) { return prefix.tokens > 2; };
  const std::vector<PromptSegments> prompts{whole_blocks({1, 2}), whole_blocks({3}), whole_blocks({5}),
                                            whole_blocks({1, 2})};
  CHECK(hits(own_cache(8, long_ones), prompts) == std::vector<std::int64_t>{0, 0, 0, 4});
  const std::vector<PromptSegments> roomy{whole_blocks({3}), whole_blocks({3})};
  CHECK(hits(own_cache(30, long_ones), roomy) == std::vector<std::int64_t>{0, 2});
}

TEST_CASE("golden: what a policy is told of a prefix, by hand") {
  const auto seen = std::make_shared<std::vector<PrefixFacts>>();
  const auto went = std::make_shared<std::vector<PrefixFacts>>();
  TestPolicy watching;
  watching.of_used = [seen](const PrefixFacts& prefix) { seen->push_back(prefix); };
  watching.of_went = [went](const PrefixFacts& prefix) { went->push_back(prefix); };
  hits(own_cache(10, watching),
       {whole_blocks({1}), whole_blocks({1, 2, 3}), whole_blocks({1, 4}), whole_blocks({9, 8, 7})});
  REQUIRE(seen->size() == 2);
  // The first request kept two tokens, which the second goes on from: nothing lies behind them yet.
  CHECK((*seen)[0].tokens == 2);
  CHECK((*seen)[0].saved_tokens == 2);
  CHECK((*seen)[0].uses == 1);
  CHECK((*seen)[0].turn == 1);
  CHECK((*seen)[0].prompt_tokens == 3);
  CHECK((*seen)[0].made == 1);
  CHECK((*seen)[0].now == 2);
  CHECK((*seen)[0].longer == 0);
  // A block of K and V and a state, each of which takes as much memory as two tokens of K and V.
  CHECK((*seen)[0].memory_tokens == doctest::Approx(4));
  // The third goes on from them again: a longer one is kept on one way, and both are one prefix.
  CHECK((*seen)[1].id == (*seen)[0].id);
  CHECK((*seen)[1].uses == 2);
  CHECK((*seen)[1].since == 2);
  CHECK((*seen)[1].now == 3);
  CHECK((*seen)[1].branches == 1);
  CHECK((*seen)[1].longer == 1);
  REQUIRE(!went->empty());
  CHECK((*went)[0].now == 4);
}

TEST_CASE("edge: a prefix whose rank has risen since it was ranked is ranked anew before it goes") {
  // By rank the prefixes behind which others are kept stay. When the first one was ranked nothing lay behind it; now
  // the second one does. The fourth prompt takes one block: a state, which is not that of the first.
  TestPolicy with_longer;
  with_longer.of_rank = [](const PrefixFacts& prefix) { return static_cast<double>(prefix.longer); };
  const std::vector<PromptSegments> prompts{whole_blocks({1}), whole_blocks({1, 2}), whole_blocks({3}),
                                            whole_blocks({9}), whole_blocks({1, 4})};
  CHECK(hits(own_cache(9, with_longer), prompts) == std::vector<std::int64_t>{0, 2, 0, 0, 2});
}

TEST_CASE("edge: ranks that rise with every question end a choice all the same") {
  TestPolicy rising;
  rising.of_rank = [next = 0.0](const PrefixFacts&) mutable { return ++next; };
  Dice dice(7);
  const TraceBatch batch = random_batch(dice, 200, 40, 0);
  CHECK(run(own_cache(60, rising), {}, batch).stats.pool.evictions > 0);
}

TEST_CASE("law: where no prompt goes on behind another, last use as rank is the policy `prefixes`, in every count") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    std::vector<PromptSegments> prompts;
    for (int i = 0; i < 120; ++i) {
      const auto which = static_cast<std::uint64_t>(dice.roll(0, 11));
      std::vector<std::uint64_t> blocks;
      for (std::uint64_t block = 0; block <= which % 4; ++block) blocks.push_back(which * 10 + block);
      prompts.push_back(whole_blocks(blocks));
    }
    CacheGeometry named = own_cache(26, {});
    named.scheduler.own_policy = nullptr;
    named.scheduler.eviction = EvictionPolicy::prefixes;
    CHECK(hits(own_cache(26, {}), prompts) == hits(named, prompts));
  }
}

TEST_CASE("law: under a policy that ranks and keeps at random the cache is sound after every step") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    TestPolicy random;
    random.of_rank = [dice = Dice(seed)](const PrefixFacts&) mutable { return static_cast<double>(dice.roll(0, 999)); };
    random.of_keeps = [dice = Dice(seed + 1)](const PrefixFacts&) mutable { return dice.chance(60); };
    Dice dice(seed + 2);
    Simulation simulation(own_cache(60, random), {});
    std::string violation;
    simulation.after_step = [&] {
      const auto violations = find_violations(simulation.scheduler());
      if (violation.empty() && !violations.empty()) violation = violations.front();
    };
    simulation.consume(random_batch(dice, 80, 40, 0));
    simulation.finish();
    CHECK(violation == "");
  }
}

TEST_CASE("fault: a policy of one's own stands alone, and needs states") {
  CacheGeometry geometry = own_cache(10, {});
  geometry.scheduler.eviction = EvictionPolicy::worth;
  CHECK_THROWS_WITH_AS(validate(geometry), doctest::Contains("give one of the two"), SpecError);
  geometry = own_cache(10, {});
  geometry.state_groups = 0;
  CHECK_THROWS_WITH_AS(validate(geometry), doctest::Contains("own ranks prefixes by their states"), SpecError);
}
