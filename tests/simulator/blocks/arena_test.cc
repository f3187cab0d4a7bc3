// Several arenas and groups with blocks of their own: examples worked out by hand, laws that tie them to one arena, and
// planted faults.
#include <doctest/doctest.h>

#include "simulator/blocks/closed_form.h"
#include "simulator/blocks/invariants.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// One attention group in arena 0 and one recurrent group in arena 1.
CacheGeometry apart(std::int64_t attention_blocks, std::int64_t state_blocks) {
  return {.block_size_tokens = 4, .num_blocks = attention_blocks, .state_groups = 1, .mode = CacheMode::align,
          .more_arenas = {state_blocks}, .state_arenas = {1}};
}

DriverSpec closed(std::int64_t in_flight) {
  return {.kind = DriverKind::closed_loop, .in_flight = in_flight, .cost = {.per_prefill_token = 1}};
}

/// Tokens that the last of these prompts hits, one after the other.
std::int64_t last_hit(const CacheGeometry& geometry, const std::vector<PromptSegments>& prompts) {
  return run(geometry, {}, batch_of(prompts)).records.back().hit_tokens;
}

/// What a run gives but for the pools it took place in.
bool same_course(const Run& a, const Run& b) {
  const auto key = [](const RequestRecord& r) {
    return std::tuple(r.index, r.hit_tokens, r.uncached_common, r.num_chunks, r.generated, r.preemptions, r.status);
  };
  return std::equal(a.records.begin(), a.records.end(), b.records.begin(), b.records.end(),
                    [&](const auto& x, const auto& y) { return key(x) == key(y); }) &&
         a.stats.steps == b.stats.steps && a.stats.copied_states == b.stats.copied_states &&
         a.stats.copied_attention_blocks == b.stats.copied_attention_blocks && a.stats.pool == b.stats.pool &&
         a.stats.max_held_blocks == b.stats.max_held_blocks;
}

}  // namespace

TEST_CASE("golden: a request is admitted only where both arenas have room") {
  // A prompt of 3 tokens takes an attention block and a state.
  const TraceBatch batch = batch_of({{{1, 3}}, {{2, 3}}}, 1);
  CHECK(run(apart(3, 3), closed(2), batch).stats.max_running == 2);
  CHECK(run(apart(3, 2), closed(2), batch).stats.max_running == 1);
  CHECK(run(apart(2, 3), closed(2), batch).stats.max_running == 1);
  // One of 6 takes two blocks, and in mode all two states.
  CacheGeometry geometry = apart(3, 2);
  CHECK(run(apart(2, 3), {}, batch_of({{{1, 6}}})).records[0].status == RequestStatus::refused);
  CHECK(run(geometry, {}, batch_of({{{1, 4}}})).records[0].status == RequestStatus::ok);
  geometry.mode = CacheMode::all;
  CHECK(run(geometry, {}, batch_of({{{1, 6}}})).records[0].status == RequestStatus::refused);
  geometry.more_arenas = {3};
  CHECK(run(geometry, {}, batch_of({{{1, 6}}})).records[0].status == RequestStatus::ok);
}

TEST_CASE("golden: a running request goes on only where both arenas have room") {
  // Step 1: A and B compute 4 of 6 tokens, a block and a state each. Step 2: A takes a second of both; B finds no third
  // state and is preempted, though attention has blocks to spare.
  const Run short_of_states = run(apart(9, 4), closed(2), batch_of({{{1, 6}}, {{2, 6}}}, 1));
  CHECK(short_of_states.stats.preemptions == 1);
  CHECK(run(apart(9, 5), closed(2), batch_of({{{1, 6}}, {{2, 6}}}, 1)).stats.preemptions == 0);
  // Alone it stalls: 9 tokens of output make a third attention block.
  CHECK(run(apart(3, 9), closed(1), batch_of({{{1, 6}}}, 4)).records[0].status == RequestStatus::stalled);
  CHECK(run(apart(4, 9), closed(1), batch_of({{{1, 6}}}, 4)).records[0].status == RequestStatus::ok);
}

TEST_CASE("golden: the watermark keeps its share of every arena free") {
  // Arena 1 has 10 usable blocks, floor(0.3 * 11) = 3 are kept: beside two requests with 4 speculative states each
  // there is none for a third, beside one there is for a second.
  CacheGeometry geometry = apart(100, 11);
  geometry.speculative_tokens = 3;
  CHECK(run(geometry, closed(3), batch_of({{{1, 3}}, {{2, 3}}}, 1)).stats.max_running == 2);
  geometry.scheduler.watermark = 0.3;
  CHECK(run(geometry, closed(3), batch_of({{{1, 3}}, {{2, 3}}}, 1)).stats.max_running == 1);
  geometry.scheduler.watermark = 0.2;
  CHECK(run(geometry, closed(3), batch_of({{{1, 3}}, {{2, 3}}}, 1)).stats.max_running == 2);
}

TEST_CASE("golden: each arena counts what it holds and drops") {
  // Four prompts of 6 tokens one after the other, all different: 2 attention blocks and 2 states each.
  const SimulationStats stats =
      run(apart(4, 100), {}, batch_of({{{1, 6}}, {{2, 6}}, {{3, 6}}, {{4, 6}}})).stats;
  REQUIRE(stats.arenas.size() == 2);
  CHECK(stats.arenas[0].max_held_blocks == 2);
  CHECK(stats.arenas[1].max_held_blocks == 2);
  CHECK(stats.max_held_blocks == 4);
  CHECK(stats.arenas[0].pool.evictions == 2);  // three blocks: those of the third and fourth prompt's first
  CHECK(stats.arenas[1].pool.evictions == 0);
  CHECK(stats.arenas[1].pool.checkpoints_made == 4);
  CHECK(stats.pool.evictions == 2);
  CHECK(stats.pool.allocations == stats.arenas[0].pool.allocations + stats.arenas[1].pool.allocations);
  CHECK(stats.modelled == std::vector{ModelledRule::several_arenas});
}

TEST_CASE("golden: attention groups with blocks of 2 and 3 tokens are found together every 6") {
  CacheGeometry geometry{.block_size_tokens = 6, .num_blocks = 100, .attention_groups = 2,
                         .attention_block_sizes = {2, 3}};
  CHECK(geometry.match_unit() == 1);
  CHECK(last_hit(geometry, {{{1, 15}}, {{1, 15}}}) == 12);
  CHECK(last_hit(geometry, {{{1, 13}}, {{1, 13}}}) == 12);
  CHECK(last_hit(geometry, {{{1, 12}}, {{1, 12}}}) == 6);
  CHECK(last_hit(geometry, {{{1, 11}, {2, 4}}, {{1, 11}, {3, 4}}}) == 6);
  const SimulationStats stats = run(geometry, {}, batch_of({{{1, 15}}})).stats;
  CHECK(stats.max_held_blocks == 8 + 5);
  CHECK(stats.pool.publications == 7 + 5);
  CHECK(stats.modelled ==
        std::vector{ModelledRule::several_attention_groups, ModelledRule::unequal_blocks});
  geometry.drafter_drops_block = true;
  CHECK(last_hit(geometry, {{{1, 15}}, {{1, 15}}}) == 6);
  // Asked for, prefixes end within blocks too: the tail of a prompt is published under its own key.
  geometry.drafter_drops_block = false;
  geometry.match_unit_tokens = 1;
  CHECK(last_hit(geometry, {{{1, 14}}, {{1, 15}}}) == 14);
  CHECK(last_hit(geometry, {{{1, 14}}, {{1, 14}, {2, 1}}}) == 14);
}

TEST_CASE("golden: attention in blocks of 2, states every 6 tokens") {
  CacheGeometry geometry{.block_size_tokens = 2, .num_blocks = 100, .state_groups = 1, .mode = CacheMode::align,
                         .state_block_size_tokens = 6};
  const Run cold = run(geometry, {}, batch_of({{{1, 15}}}));
  CHECK(cold.records[0].num_chunks == 2);
  CHECK(cold.stats.max_held_blocks == 8 + 2);
  CHECK(checkpoint_positions(geometry, 15) == std::vector<std::int64_t>{12});
  CHECK(last_hit(geometry, {{{1, 15}}, {{1, 15}}}) == 12);
  // The second prompt shares 10 tokens: attention finds them, no state; it makes one at 6 for the third.
  const Run branched = run(geometry, {}, batch_of({{{1, 15}}, {{1, 10}, {2, 5}}, {{1, 10}, {3, 5}}}));
  CHECK(branched.records[1].hit_tokens == 0);
  CHECK(branched.records[1].uncached_common == 10);
  CHECK(branched.records[2].hit_tokens == 6);
  CHECK(branched.records[2].uncached_common == 4);
  // The drafter's last step of attention is one block of 2; the last checkpoint lies 6 earlier.
  geometry.drafter_drops_block = true;
  CHECK(checkpoint_positions(geometry, 15) == std::vector<std::int64_t>{6});
  CHECK(last_hit(geometry, {{{1, 15}}, {{1, 15}}}) == 6);
}

TEST_CASE("golden: states that lie where no attention block ends are not resumed from") {
  // Blocks of 4, states every 6: chunks are cut every 12. In mode all the states at 6 and 18 are never found.
  CacheGeometry geometry{.block_size_tokens = 4, .num_blocks = 100, .state_groups = 1, .mode = CacheMode::align,
                         .state_block_size_tokens = 6};
  CHECK(geometry.checkpoint_step() == 12);
  CHECK(checkpoint_positions(geometry, 29) == std::vector<std::int64_t>{24});
  CHECK(last_hit(geometry, {{{1, 29}}, {{1, 29}}}) == 24);
  geometry.mode = CacheMode::all;
  CHECK(checkpoint_positions(geometry, 29) == std::vector<std::int64_t>{6, 12, 18, 24});
  CHECK(last_hit(geometry, {{{1, 29}}, {{1, 23}}}) == 12);
}

TEST_CASE("law: two arenas so large that nothing is dropped give what one gives") {
  std::int64_t hits = 0, copies = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Dice dice(seed + 30000);
    CacheGeometry one = random_arenas(dice);
    one.num_blocks = 5000;
    one.more_arenas = {};
    one.attention_arenas = one.state_arenas = {};
    CacheGeometry several = one;
    several.more_arenas = {5000, 5000};
    for (std::int64_t i = 0; i < one.attention_groups; ++i) several.attention_arenas.push_back(dice.roll(0, 2));
    for (std::int64_t i = 0; i < one.state_groups; ++i) several.state_arenas.push_back(dice.roll(0, 2));
    const DriverSpec driver = random_driver(dice);
    const TraceBatch batch = random_batch(dice, 20, 40, 8);
    const Run in_one = run(one, driver, batch), in_several = run(several, driver, batch);
    REQUIRE(in_one.stats.pool.evictions == 0);
    REQUIRE(same_course(in_one, in_several));
    hits += in_one.stats.hit_tokens;
    copies += in_one.stats.copied_attention_blocks;
  }
  CHECK(hits > 1000);
  CHECK(copies > 100);
}

TEST_CASE("law: states in an arena of their own are not lost when tokens fill the other") {
  std::int64_t lost_in_one = 0, dropped_tokens = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    Dice dice(seed + 40000);
    CacheGeometry geometry = apart(dice.roll(14, 30), 5000);
    geometry.state_groups = dice.roll(1, 3);
    geometry.state_arenas.assign(static_cast<std::size_t>(geometry.state_groups), 1);
    geometry.mode = dice.chance(50) ? CacheMode::align : CacheMode::all;
    const DriverSpec driver = random_driver(dice);
    const TraceBatch batch = random_batch(dice, 20, 40, 8);
    Simulation simulation(geometry, driver);
    simulation.consume(batch);
    const SimulationStats stats = simulation.finish();
    const BlockArena& states = simulation.scheduler().cache().pool(1);
    REQUIRE(stats.pool.checkpoints_evicted == 0);
    REQUIRE(states.num_findable(BlockKind::state) == states.stats().publications);
    dropped_tokens += stats.arenas[0].pool.evictions;
    geometry.more_arenas = {};
    geometry.state_arenas = {};
    lost_in_one += run(geometry, driver, batch).stats.pool.checkpoints_evicted;
  }
  CHECK(dropped_tokens > 1000);
  CHECK(lost_in_one > 100);
}

TEST_CASE("golden: ids and longest request by arena") {
  CacheGeometry geometry{.block_size_tokens = 4, .num_blocks = 20, .attention_groups = 2, .state_groups = 3,
                         .mode = CacheMode::align, .speculative_tokens = 1, .extra_blocks_per_request = 5,
                         .more_arenas = {30, 8}, .attention_arenas = {0, 1}, .state_arenas = {1, 2, 2},
                         .attention_block_sizes = {4, 6}, .state_block_size_tokens = 12};
  CHECK(request_block_ids(geometry, 25) == 5 + 7);
  CHECK(request_block_ids(geometry, 25, 1) == 5 + 3);
  CHECK(request_block_ids(geometry, 25, 2) == 2 * 3);
  CHECK(longest_request(geometry, 0) == (19 - 5) * 4);
  CHECK(longest_request(geometry, 1) == (29 - 3) * 6);
  CHECK(longest_request(geometry, 2) == std::int64_t{1} << 40);
  CHECK(longest_request(geometry) == 56);
  geometry.mode = CacheMode::all;
  CHECK(request_block_ids(geometry, 25, 2) == 2 * (3 + 1));
  CHECK(longest_request(geometry, 2) == 2 * 12);  // two groups of 7 ids: 2 states and the speculative one each
  CHECK(longest_request(geometry) == 24);
}

TEST_CASE("law: simulated copies hit what the closed form says, whatever the blocks") {
  std::int64_t compared = 0;
  for (const CacheMode mode : {CacheMode::none, CacheMode::align, CacheMode::all})
    for (const bool drafter : {false, true})
      for (const std::int64_t state_groups : {0, 1})
        for (const auto& [attention, state] : {std::pair{2, 6}, std::pair{4, 6}, std::pair{6, 2}, std::pair{3, 3}})
          for (std::int64_t prompt = 1; prompt <= 40; ++prompt) {
            CAPTURE(prompt);
            CacheGeometry geometry = apart(1000, 1000);
            geometry.mode = mode;
            geometry.drafter_drops_block = drafter;
            geometry.state_groups = state_groups;
            geometry.state_arenas.resize(static_cast<std::size_t>(state_groups));
            geometry.attention_block_sizes = {attention};
            geometry.state_block_size_tokens = state;
            const Run result = run(geometry, {}, copies_of({{1, prompt}}, 4));
            for (std::int64_t copy = 2; copy <= 4; ++copy) {
              const auto predicted = predicted_copy_hit(geometry, prompt, copy);
              if (!predicted) continue;
              ++compared;
              REQUIRE(result.records[static_cast<std::size_t>(copy - 1)].hit_tokens == *predicted);
            }
          }
  CHECK(compared > 3000);
}

TEST_CASE("edge: one arena written out is the default") {
  CacheGeometry geometry{.block_size_tokens = 4, .num_blocks = 30, .attention_groups = 2, .state_groups = 1,
                         .mode = CacheMode::align};
  const TraceBatch batch = copies_of({{1, 22}}, 3, 5);
  const Run plain = run(geometry, closed(2), batch);
  geometry.attention_arenas = {0, 0};
  geometry.state_arenas = {0};
  geometry.attention_block_sizes = {4, 4};
  geometry.state_block_size_tokens = 4;
  const Run written = run(geometry, closed(2), batch);
  CHECK(same_course(plain, written));
  CHECK(plain.stats.modelled == written.stats.modelled);
}

TEST_CASE("edge: unusable arenas and blocks are refused with the numbers") {
  const auto refused = [](auto&& change, const char* message) {
    CacheGeometry geometry = apart(20, 20);
    change(geometry);
    CHECK_THROWS_WITH_AS(validate(geometry), message, SpecError);
  };
  refused([](CacheGeometry& g) { g.more_arenas = {1}; }, "geometry.more_arenas: must be 2 to 2147483648, is 1");
  refused([](CacheGeometry& g) { g.state_arenas = {2}; }, "geometry.state_arenas: must be 0 to 1, is 2");
  refused([](CacheGeometry& g) { g.attention_arenas = {-1}; }, "geometry.attention_arenas: must be 0 to 1, is -1");
  refused([](CacheGeometry& g) { g.state_arenas = {1, 1}; },
          "geometry.state_arenas: 2 numbers for 1 recurrent groups; give one for each, or none");
  refused([](CacheGeometry& g) { g.attention_arenas = {0, 1}; },
          "geometry.attention_arenas: 2 numbers for 1 attention groups; give one for each, or none");
  refused([](CacheGeometry& g) { g.attention_block_sizes = {4, 4}; },
          "geometry.attention_block_sizes: 2 numbers for 1 attention groups; give one for each, or none");
  refused([](CacheGeometry& g) { g.attention_block_sizes = {0}; },
          "geometry.attention_block_sizes: must be 1 to 1099511627776, is 0");
  refused([](CacheGeometry& g) { g.state_block_size_tokens = 0; },
          "geometry.state_block_size_tokens: must be 1 to 1099511627776, is 0");
  refused([](CacheGeometry& g) { g.attention_block_sizes = {1 << 20}, g.state_block_size_tokens = (1 << 21) - 1; },
          "geometry.attention_block_sizes: blocks of 1048576 and 2097151 tokens end at the same token only behind "
          "1099511627776 tokens, so no prefix would ever be found in all groups; take blocks that divide one another");
  refused(
      [](CacheGeometry& g) { g.attention_block_sizes = {12}, g.state_block_size_tokens = 8, g.match_unit_tokens = 3; },
      "geometry.match_unit_tokens: 3 does not divide the block of every group; take a divisor of 4");
  refused([](CacheGeometry& g) { g.state_block_size_tokens = 64, g.max_num_batched_tokens = 32; },
          "geometry.max_num_batched_tokens: mode align cuts chunks to whole blocks: a budget of 32 below the block of "
          "64 tokens would wait for ever; take at least 64");
  refused([](CacheGeometry& g) { g.state_block_size_tokens = 6, g.scheduler.long_prefill_threshold = 8; },
          "geometry.long_prefill_threshold: mode align ends chunks where every group's blocks end: a threshold of 8 "
          "below the distance of 12 tokens would wait for ever; take at least 12, or 0 for none");
}

namespace {

/// Two requests in the middle of a workload, attention and states apart, the second with a shared tail copied.
struct Planted {
  Planted() {
    const TraceBatch batch = batch_of({{{1, 13}}, {{1, 13}}}, 50);
    for (int i = 0; i < 2; ++i) {
      scheduler.submit(batch.requests[i], batch.prompt(batch.requests[i]));
      for (int step = 0; step < 3; ++step) {
        scheduler.schedule(0);
        if (i == 0 || step < 2) scheduler.complete(0);
        if (i == 1 && !CachePeek::copied(scheduler).empty()) break;
      }
    }
  }
  RequestBlocks& blocks(std::size_t request) { return scheduler.running()[request]->blocks; }
  bool found(const std::string& expected) const {
    for (const std::string& violation : find_violations(scheduler))
      if (violation.find(expected) != std::string::npos) return true;
    return false;
  }
  Scheduler scheduler{[] {
                        CacheGeometry geometry = apart(40, 60);
                        geometry.attention_block_sizes = {2};
                        geometry.state_block_size_tokens = 8;
                        geometry.max_num_batched_tokens = 16;
                        return geometry;
                      }(),
                      false, [](const RequestRecord&) {}};
};

}  // namespace

TEST_CASE("fault: nothing is found where nothing is planted, ids may be equal across arenas") {
  Planted planted;
  REQUIRE(planted.scheduler.num_running() == 2);
  CHECK(find_violations(planted.scheduler).empty());
  CHECK(planted.blocks(0).attention[0].front() == 1);
  CHECK(planted.scheduler.cache().pool(1).references(1) == 0);
}

TEST_CASE("fault: an id released to the wrong arena is found in both") {
  Planted planted;
  const BlockId state = planted.blocks(0).states[0].live.back().block;
  BlockArena& tokens = CachePeek::pool(planted.scheduler, 0);
  SUBCASE("released to the other arena, where somebody holds it") {
    const BlockId held = planted.blocks(0).attention[0].front();
    CachePeek::pool(planted.scheduler, 1).hold(held);
    tokens.release(held);
    CHECK(planted.found("arena 0: block 1 counts 1 references and has 2"));
    CHECK(planted.found("arena 1: block 1 counts 1 references and has 0"));
  }
  SUBCASE("taken from the other arena") {
    planted.blocks(0).states[0].live.back().block = tokens.take(BlockKind::state);
    CHECK(planted.found("arena 0: block"));
    CHECK(planted.found("arena 1: block " + std::to_string(state) + " counts 1 references and has 0"));
  }
}
