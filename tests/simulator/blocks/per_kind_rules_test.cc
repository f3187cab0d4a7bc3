// Each kind of layers says which prefixes it can go on from: the examples of Jenga's paper.
#include "simulator/blocks/per_kind_rules.h"

#include <doctest/doctest.h>

#include <set>
#include <string_view>

#include "engines/jenga/rules.h"
#include "simulator/blocks/block_steps.h"
#include "simulator/blocks/closed_form.h"
#include "simulator/blocks/invariants.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

constexpr std::string_view tokens = "ABCDEFGHIJ";

/// A cache of blocks of one token in which groups hold some of ten.
struct Held {
  CacheParts parts;
  std::unique_ptr<BlockSteps> steps;
  std::vector<PrefixKey> keys{101, 102, 103, 104, 105, 106, 107, 108, 109, 110};

  explicit Held(std::vector<KeyMask> masks)
      : parts({.block_size_tokens = 1,
               .num_blocks = 100,
               .attention_groups = std::ssize(masks),
               .attention_masks = masks}),
        steps(per_kind_rules.start(parts)) {}

  void cache(std::size_t group, std::string_view some) {
    BlockArena& pool = parts.pools.front();
    for (const char token : some) {
      const BlockId block = pool.take(BlockKind::attention);
      pool.publish(block, parts.attention.group_keys()(keys[tokens.find(token)], group), 1, false);
      pool.release(block);
    }
  }
  /// The lengths of the prefixes from which a request can go on.
  std::set<std::int64_t> possible() {
    std::set<std::int64_t> lengths;
    for (std::int64_t limit = 1; limit <= std::ssize(tokens); ++limit) {
      RequestBlocks request;
      request.attention.resize(parts.attention.groups().size());
      lengths.insert(steps->look_up(request, {keys, limit + 1, limit + 1}).tokens);
    }
    lengths.erase(0);
    return lengths;
  }
};

/// Large pages with states at multiples of a number of their own, and some windows.
CacheGeometry random_kinds(Dice& dice) {
  CacheGeometry g = random_large_pages(dice);
  g.rules.engine = &rules_of_jenga;
  g.rules.blocks = &per_kind_rules;
  g.mode = dice.chance(80) ? CacheMode::all : CacheMode::none;
  g.drafter_drops_block = false;
  g.match_unit_tokens.reset();
  g.retention_interval_tokens.reset();
  g.scheduler.watermark = 0;
  if (dice.chance(60))
    for (std::int64_t group = 0; group < g.attention_groups; ++group)
      g.attention_masks.push_back(dice.chance(50) ? KeyMask{}
                                                  : KeyMask{MaskKind::sliding_window, dice.roll(1, 9)});
  return g;
}

/// What is wrong after some step of a replay, and how each request ended.
struct CheckedRun {
  std::string violation;
  std::vector<RequestRecord> records;
};

CheckedRun checked(const CacheGeometry& geometry, const DriverSpec& driver, const TraceBatch& batch) {
  CheckedRun result;
  Simulation simulation(geometry, driver, [&](const RequestRecord& record) { result.records.push_back(record); });
  simulation.after_schedule = [&] {
    const auto violations = find_violations(simulation.scheduler());
    if (!violations.empty() && result.violation.empty()) result.violation = violations.front();
  };
  simulation.consume(batch);
  simulation.finish();
  return result;
}

constexpr KeyMask full;
constexpr KeyMask window_of_two{MaskKind::sliding_window, 2};

}  // namespace

TEST_CASE("golden: of ten tokens full attention and a window of two have other prefixes, and joint ones") {
  Held attention({full});
  attention.cache(0, "ABCDEFGHI");
  CHECK(attention.possible() == std::set<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  Held window({window_of_two});
  window.cache(0, "CDHIJ");
  CHECK(window.possible() == std::set<std::int64_t>{4, 9, 10});  // not ABC: B is missing
  Held both({full, window_of_two});
  both.cache(0, "ABCDEFGHI");
  both.cache(1, "CDHIJ");
  CHECK(both.possible() == std::set<std::int64_t>{4, 9});
}

TEST_CASE("edge: a window holds what it needs of a prefix, and nothing before that") {
  Held both({full, window_of_two});
  both.cache(0, "ABCDEFGHI");
  both.cache(1, "CDHIJ");
  RequestBlocks request;
  request.attention.resize(2);
  CHECK(both.steps->look_up(request, {both.keys, 7, 7}) == PrefixHit{4, 2});
  REQUIRE(request.attention[1].size() == 4);
  CHECK(request.attention[1][1] == null_block_id);
  CHECK(request.attention[1][3] != null_block_id);
  CHECK(request.attention[0].size() == 4);
}

TEST_CASE("law: large pages of kinds with rules of their own are sound, and what fits by the closed form ends") {
  std::int64_t longest_ended = 0, hits = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    const CacheGeometry geometry = random_kinds(dice);
    TraceBatch batch = random_batch(dice, 12, 40, 12);
    const std::int64_t longest = longest_request(geometry);
    const bool asks = longest >= 2 && longest < 2000;
    if (asks) add_request(batch, {{9'000'000, longest - 1}}, 1, 1000);
    const DriverSpec driver = asks ? DriverSpec{} : random_driver(dice);
    const CheckedRun run = checked(geometry, driver, batch);
    REQUIRE(run.violation == "");
    REQUIRE(run.records.size() == batch.requests.size());
    for (const RequestRecord& record : run.records) hits += record.hit_tokens;
    if (!asks) continue;
    CHECK(run.records.back().status == RequestStatus::ok);
    ++longest_ended;
  }
  CHECK(longest_ended > 100);
  CHECK(hits > 1000);
}
