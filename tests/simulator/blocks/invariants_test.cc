// The cache is sound after every step of random workloads on tiny pools, and every planted fault is found.
#include "simulator/blocks/invariants.h"
#include "simulator/blocks/match_unit_rules.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

struct Outcome {
  SimulationStats stats;
  std::vector<RequestRecord> records;
  std::string violation;
};

Outcome run_checked(const CacheGeometry& geometry, const DriverSpec& driver, const TraceBatch& batch) {
  Outcome outcome;
  Simulation simulation(geometry, driver, [&](const RequestRecord& r) { outcome.records.push_back(r); });
  const auto check = [&](const char* when) {
    if (!outcome.violation.empty()) return;
    const auto violations = find_violations(simulation.scheduler());
    if (!violations.empty()) outcome.violation = std::string(when) + ": " + violations.front();
  };
  simulation.after_schedule = [&] { check("after scheduling"); };
  simulation.after_step = [&] { check("after the step"); };
  simulation.consume(batch);
  outcome.stats = simulation.finish();
  for (const BlockArena& pool : simulation.scheduler().cache().pools()) CHECK(pool.num_held() == 0);
  return outcome;
}

}  // namespace

namespace {

/// Runs 1500 random workloads, each on a geometry that `random` rolls.
void check_workloads(CacheGeometry (&random)(Dice&)) {
  std::int64_t hits = 0, preemptions = 0, copies = 0, evictions = 0, refused = 0, stalled = 0, checkpoints = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    const CacheGeometry geometry = random(dice);
    const DriverSpec driver = random_driver(dice);
    const TraceBatch batch = random_batch(dice, 12, 40, 12);
    const Outcome outcome = run_checked(geometry, driver, batch);
    REQUIRE(outcome.violation == "");
    REQUIRE(outcome.records.size() == batch.requests.size());
    for (const RequestRecord& record : outcome.records) {
      REQUIRE(record.hit_tokens < record.input_length);
      REQUIRE(record.hit_tokens % geometry.match_unit() == 0);
      if (record.status == RequestStatus::ok && driver.kind != DriverKind::one_at_a_time)
        REQUIRE(record.generated == record.output_length);
    }
    hits += outcome.stats.hit_tokens;
    preemptions += outcome.stats.preemptions;
    copies += outcome.stats.copied_attention_blocks;
    evictions += outcome.stats.pool.evictions;
    refused += outcome.stats.refused;
    stalled += outcome.stats.stalled;
    checkpoints += outcome.stats.pool.checkpoints_used;
  }
  // The workloads reach every corner they are meant for.
  CHECK(std::min({hits, preemptions, copies, evictions, refused, stalled, checkpoints}) > 100);
}

/// The same with the rules of vLLM 0.33: blocks of unequal size in several arenas, exports, drafters, narrow budgets.
CacheGeometry random_arenas_033(Dice& dice) {
  CacheGeometry g = random_arenas(dice);
  g.rules.blocks = &match_unit_rules;
  if (g.mode == CacheMode::all) g.mode = CacheMode::align;
  if (g.retention_interval_tokens) g.retention_interval_tokens = g.common_multiple() * dice.roll(0, 3);
  g.rules.checkpoint_blocks = dice.roll(0, 1);
  if (g.speculative_tokens > 0 && !g.drafter_drops_block && dice.chance(70))
    g.rules.lookahead_tokens = dice.chance(80) ? 1 : g.speculative_tokens;
  g.max_num_batched_tokens = dice.roll(1 + g.speculative_tokens, 30);
  return g;
}

/// Any of these with drafts that come true.
CacheGeometry random_drafts(Dice& dice) {
  CacheGeometry (*const kinds[])(Dice&) = {random_geometry, random_arenas, random_arenas_033, random_large_pages};
  CacheGeometry g = kinds[dice.roll(0, 3)](dice);
  if (g.rules.lookahead_tokens <= 1) g.speculative_tokens = dice.roll(1, 3);
  g.max_num_batched_tokens = std::max(g.max_num_batched_tokens, 1 + g.speculative_tokens);
  g.scheduler.acceptance = static_cast<double>(dice.roll(1, 10)) / 10;
  return g;
}

/// Any of these with a policy that no engine has.
CacheGeometry random_policy(Dice& dice) {
  CacheGeometry (*const kinds[])(Dice&) = {random_geometry, random_arenas, random_arenas_033};
  CacheGeometry g = kinds[dice.roll(0, 2)](dice);
  constexpr auto policies = values_of(eviction_policy_names);
  if (g.has_state_blocks()) g.scheduler.eviction = policies[static_cast<std::size_t>(dice.roll(1, 6))];
  if (g.rules.blocks->cuts_to_blocks(g)) g.scheduler.checkpoint_back = dice.roll(0, 2);
  return g;
}

}  // namespace

TEST_CASE("law: the cache is sound after every step of 1500 random workloads") { check_workloads(random_geometry); }

TEST_CASE("law: so it is with several arenas and blocks of unequal size") { check_workloads(random_arenas); }

TEST_CASE("law: and so it is with the rules of vLLM 0.33") { check_workloads(random_arenas_033); }

TEST_CASE("law: and with large pages that arenas share") { check_workloads(random_large_pages); }

TEST_CASE("law: whatever policy evicts, nothing that is in use goes and no block is forgotten") {
  check_workloads(random_policy);
}

TEST_CASE("law: drafts that come true leave the cache sound, and every request with what it asked for") {
  check_workloads(random_drafts);
}

TEST_CASE("law: every replay ends: chunks of about a block, drafters of several modules, whatever evicts") {
  constexpr std::int64_t most_steps = 20'000;
  std::int64_t stalled = 0, served = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    CacheGeometry geometry = random_arenas_033(dice);
    geometry.drafter_drops_block = false;
    geometry.speculative_tokens = geometry.rules.lookahead_tokens = dice.roll(2, 3);
    geometry.max_num_batched_tokens =
        std::max(1 + geometry.speculative_tokens, geometry.state_block() + dice.roll(0, 2));
    if (ranks_prefixes(geometry))
      geometry.scheduler.eviction = values_of(eviction_policy_names)[static_cast<std::size_t>(dice.roll(0, 6))];
    Simulation simulation(geometry, random_driver(dice));
    std::int64_t steps = 0;
    simulation.after_schedule = [&] {
      if (++steps > most_steps) throw std::runtime_error("a replay does not end");
    };
    simulation.consume(random_batch(dice, 12, 40, 12));
    const SimulationStats stats = simulation.finish();
    stalled += stats.stalled;
    served += stats.requests - stats.stalled - stats.refused - stats.too_long;
  }
  CHECK(std::min(stalled, served) > 100);
}

TEST_CASE("law: the same requests give the same numbers however they are cut into batches") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Dice dice(seed);
    const CacheGeometry geometry = random_geometry(dice);
    const DriverSpec driver = random_driver(dice);
    const TraceBatch whole = random_batch(dice, 30, 40, 8);
    Simulation at_once(geometry, driver);
    at_once.consume(whole);
    Simulation one_by_one(geometry, driver);
    for (const TraceRequest& request : whole.requests) {
      TraceBatch single{.runs = whole.runs};
      single.requests.push_back(request);
      one_by_one.consume(single);
    }
    REQUIRE(at_once.finish() == one_by_one.finish());
  }
}

namespace {

/// A scheduler stopped in the middle of a workload: two requests share a prefix and run, several states each.
struct PlantedInPool {
  PlantedInPool() {
    const TraceBatch batch = batch_of({{{1, 40}}, {{2, 8}, {3, 20}}, {{2, 8}, {4, 30}}}, 50);
    for (int i = 0; i < 2; ++i) submit(batch, i);
    for (int i = 0; i < 3; ++i) step();
    submit(batch, 2);
    step();
    scheduler.schedule(0);
  }
  void submit(const TraceBatch& batch, int i) {
    scheduler.submit(batch.requests[i], batch.prompt(batch.requests[i]));
  }
  void step() {
    scheduler.schedule(0);
    scheduler.complete(0);
  }
  BlockArena& pool() { return CachePeek::pool(scheduler); }
  RequestBlocks& blocks(std::size_t request) { return scheduler.running()[request]->blocks; }
  /// A free block with a key, at the end of the queue.
  BlockId last_free() { return ArenaPeek::links(pool())[null_block_id].previous; }

  Scheduler scheduler{{.block_size_tokens = 4, .num_blocks = 80, .state_groups = 2, .mode = CacheMode::align,
                       .speculative_tokens = 1, .max_num_batched_tokens = 24}, false, [](const RequestRecord&) {}};
};

bool found(PlantedInPool& planted, const std::string& expected) {
  for (const std::string& violation : find_violations(planted.scheduler))
    if (violation.find(expected) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("fault: nothing is found where nothing is planted") {
  PlantedInPool planted;
  REQUIRE(planted.scheduler.num_running() == 3);
  CHECK(find_violations(planted.scheduler).empty());
  CHECK(planted.pool().key(planted.last_free()) != 0);
}

TEST_CASE("fault: wrong reference counts are found") {
  PlantedInPool planted;
  const BlockId held = planted.blocks(0).attention[0][0];
  SUBCASE("one too many") {
    ++ArenaPeek::blocks(planted.pool())[held].references;
    CHECK(found(planted, "references and has"));
  }
  SUBCASE("one too few") {
    --ArenaPeek::blocks(planted.pool())[held].references;
    CHECK(found(planted, "references and has"));
  }
  SUBCASE("the null block is held") {
    planted.blocks(0).attention[0][0] = null_block_id;
    CHECK(found(planted, "holds block 0"));
  }
  SUBCASE("a held block lies in the free queue") {
    ArenaPeek::queue(planted.pool()).push_back(held);
    CHECK(found(planted, "in the free queue and held"));
  }
}

TEST_CASE("fault: a broken free queue is found") {
  PlantedInPool planted;
  auto& links = ArenaPeek::links(planted.pool());
  auto& queue = ArenaPeek::queue(planted.pool());
  SUBCASE("a link leads back") {
    links[planted.last_free()].next = queue.front();
    CHECK(found(planted, "the free queue is broken"));
  }
  SUBCASE("a link leads past the last block") {
    links[planted.last_free()].next = static_cast<BlockId>(links.size());
    CHECK(found(planted, "the free queue is broken"));
  }
  SUBCASE("a free block is lost") {
    queue.remove(planted.last_free());
    CHECK(found(planted, "not in the free queue and free"));
  }
  SUBCASE("a block without a key queues last") {
    const BlockId front = queue.pop_front();
    queue.push_back(front);
    CHECK(found(planted, "queues behind one with a key"));
  }
}

TEST_CASE("fault: a wrong index is found") {
  PlantedInPool planted;
  const BlockId block = planted.blocks(0).attention[0][0];
  auto& nodes = ArenaPeek::nodes(planted.pool());
  SUBCASE("a block lost its key, the index did not notice") {
    nodes[block].key = 0;
    CHECK(found(planted, "the index counts"));
  }
  SUBCASE("an empty slot hides a key") {
    for (auto& bucket : ArenaPeek::buckets(planted.pool()))
      if (bucket.oldest == block) bucket = {};
    CHECK(found(planted, "the index does not find"));
  }
  SUBCASE("a stale slot points to a block with another key") {
    nodes[block].key ^= 1ULL << 63;
    CHECK(found(planted, "is not published under its prefix"));
  }
  SUBCASE("a counter of findable blocks is off") {
    ++ArenaPeek::findable(planted.pool())[0];
    CHECK(found(planted, "can be found, counted"));
  }
  SUBCASE("a counter of held blocks is off") {
    --ArenaPeek::held(planted.pool())[1];
    CHECK(found(planted, "are held, counted"));
  }
}

TEST_CASE("fault: blocks of one key that are not found oldest first are found") {
  // A copy of a prompt of two blocks finds the first of them alone, as its last token is always computed: it computes
  // the second one again, in a later step, and publishes it under the same key.
  Scheduler scheduler({.block_size_tokens = 4, .num_blocks = 40, .state_groups = 0}, false,
                      [](const RequestRecord&) {});
  const TraceBatch batch = copies_of({{1, 8}}, 2, 50);
  for (const TraceRequest& request : batch.requests) {
    scheduler.submit(request, batch.prompt(request));
    scheduler.schedule(0);
    scheduler.complete(0);
  }
  REQUIRE(scheduler.num_running() == 2);
  BlockArena& pool = CachePeek::pool(scheduler);
  const BlockId first = scheduler.running()[0]->blocks.attention[0][1];
  const BlockId copy = scheduler.running()[1]->blocks.attention[0][1];
  REQUIRE(first != copy);
  REQUIRE(pool.key(first) == pool.key(copy));
  REQUIRE(pool.published_step(first) < pool.published_step(copy));
  CHECK(find_violations(scheduler).empty());
  ArenaPeek::blocks(pool)[first].published_step = pool.published_step(copy) + 1;
  const std::vector<std::string> violations = find_violations(scheduler);
  REQUIRE(violations.size() == 1);
  CHECK(violations.front().find("are not found oldest first") != std::string::npos);
}

TEST_CASE("fault: incomplete or shared tables are found") {
  PlantedInPool planted;
  SUBCASE("a running state is missing in one group") {
    planted.blocks(1).states[1].live.pop_back();
    CHECK(found(planted, "lacks its running state in group 1"));
  }
  SUBCASE("a table of states is missing") {
    planted.blocks(1).states.pop_back();
    CHECK(found(planted, "request 1 has 1 state tables"));
  }
  SUBCASE("a table of attention is missing") {
    planted.blocks(1).attention.pop_back();
    CHECK(found(planted, "request 1 has 0 attention tables"));
  }
  SUBCASE("a speculative state is missing") {
    planted.blocks(1).states[0].spare.clear();
    CHECK(found(planted, "holds 0 speculative states"));
  }
  SUBCASE("one block stands twice in a table") {
    planted.blocks(0).attention[0][1] = planted.blocks(0).attention[0][0];
    CHECK(found(planted, "twice"));
  }
  SUBCASE("two requests write into the same block") {
    planted.blocks(0).states[0].live.back().block = planted.blocks(1).states[0].live.back().block;
    CHECK(found(planted, "is shared and not published"));
  }
  SUBCASE("a table is too short") {
    planted.blocks(2).attention[0].pop_back();
    CHECK(found(planted, "attention blocks for"));
  }
  SUBCASE("a checkpoint is not in every group") {
    for (StateTable& table : planted.blocks(0).states) REQUIRE(planted.pool().key(table.live.back().block) == 0);
    planted.pool().publish(planted.blocks(0).states[1].live.back().block, 12345, 99, false);
    CHECK(found(planted, "is not in every group"));
    CHECK(found(planted, "is not published under its prefix"));
  }
  SUBCASE("a waiting request holds a block") {
    planted.scheduler.submit({.input_length = 4}, std::vector<TokenRun>{{4, 1}});
    CachePeek::waiting(planted.scheduler).back()->blocks.held = {{1}};
    CHECK(found(planted, "waiting request 0 holds blocks"));
  }
}

namespace {

/// A scheduler over two arenas that share large pages, stopped in the middle of a workload.
struct PlantedPages {
  PlantedPages() {
    const TraceBatch batch = batch_of({{{1, 40}}, {{2, 8}, {3, 20}}}, 50);
    for (int i = 0; i < 2; ++i) scheduler.submit(batch.requests[i], batch.prompt(batch.requests[i]));
    for (int i = 0; i < 3; ++i) {
      scheduler.schedule(0);
      scheduler.complete(0);
    }
  }
  PageLedger& ledger() { return CachePeek::ledger(scheduler); }
  /// A large page with a held block.
  std::int64_t held_page() {
    for (std::int64_t page = 1; page < ledger().num_pages(); ++page)
      if (ledger().held_in(page) > 0) return page;
    return 0;
  }
  bool found(const std::string& expected) {
    for (const std::string& violation : find_violations(scheduler))
      if (violation.find(expected) != std::string::npos) return true;
    return false;
  }

  Scheduler scheduler{{.block_size_tokens = 4, .num_blocks = 60, .state_groups = 1, .mode = CacheMode::align,
                       .max_num_batched_tokens = 24, .more_arenas = {40}, .blocks_per_large_page = {3, 2},
                       .state_arenas = {1}}, false, [](const RequestRecord&) {}};
};

}  // namespace

TEST_CASE("fault: a wrong ledger of large pages is found") {
  PlantedPages planted;
  REQUIRE(find_violations(planted.scheduler).empty());
  const std::int64_t page = planted.held_page();
  REQUIRE(page > 0);
  const std::int64_t other = 1 - planted.ledger().pool_of(page);
  SUBCASE("a page counts a hold too few") {
    LedgerPeek::set_held(planted.ledger(), page, planted.ledger().held_in(page) - 1);
    CHECK(planted.found("held blocks, counted"));
  }
  SUBCASE("a page went to another arena while it is held") {
    LedgerPeek::set_pool(planted.ledger(), page, other);
    CHECK(planted.found("lies in a large page that the arena does not have"));
    CHECK(planted.found("lie in pages of others, counted"));
  }
  SUBCASE("a page is nobody's and not in the list of those") {
    LedgerPeek::set_pool(planted.ledger(), page, -1);
    CHECK(planted.found("large pages are no pool's, counted"));
  }
  SUBCASE("the null page is used") {
    LedgerPeek::set_pool(planted.ledger(), 0, 0);
    CHECK(planted.found("the null page is in use"));
  }
  SUBCASE("a page without a held block is not listed") {
    LedgerPeek::idle(planted.ledger()).insert({1, page});
    CHECK(planted.found("and the list of those has"));
  }
}
