// The host tier behind a tree: what is evicted is found there again, lists and sizes agree after every action, and with
// an endless host nothing that was ever in the tree is lost.
#include <doctest/doctest.h>

#include "simulator/tree/tree_invariants.h"
#include "tests/simulator/tree/tree_workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

constexpr std::int64_t endless_host = 1'000'000'000;

TreeSettings random_host_settings(Dice& dice) {
  TreeSettings s = random_tree_settings(dice);
  s.host.copies = static_cast<HostCopies>(dice.roll(0, 2));
  s.host.tokens = s.page * dice.roll(1, 120);
  s.host.states = s.has_states() ? dice.roll(1, 14) : 0;
  return s;
}

/// Pools for a prompt of 45 tokens, and a host behind them.
TreeSettings small_pools(HostCopies copies) {
  return {.token_slots = 60, .state_slots = 5, .model_chunk = 4, .strategy = TreeStrategy::no_buffer,
          .host = {.tokens = 200, .states = 20, .copies = copies}};
}

std::vector<TreeRecord> replayed(const TreeSettings& settings, const TraceBatch& batch) {
  std::vector<TreeRecord> records;
  TreeReplay replay(settings);
  for (const TraceRequest& request : batch.requests) records.push_back(replay.run(request, batch.prompt(request)));
  return records;
}

}  // namespace

TEST_CASE("golden: an evicted prompt is loaded back, with its state, where a copy was made") {
  const TraceBatch batch = batch_of({{{1, 30}}, {{2, 40}}, {{1, 30}, {3, 5}}});
  TreeSettings alone = small_pools(HostCopies::write_through);
  alone.host = {};
  CHECK(replayed(alone, batch).back().hit_tokens == 0);
  for (const HostCopies copies : {HostCopies::write_through, HostCopies::write_back}) {
    const TreeRecord record = replayed(small_pools(copies), batch).back();
    CHECK(record.hit_tokens == 30);
    CHECK(record.loaded_tokens == 30);
    CHECK(record.loaded_states == 1);
  }
  CHECK(replayed(small_pools(HostCopies::write_through_selective), batch).back().hit_tokens == 0);
}

TEST_CASE("edge: a prompt that was used twice is copied by the selective policy") {
  const TraceBatch batch = batch_of({{{1, 30}}, {{1, 30}, {4, 2}}, {{2, 40}}, {{1, 30}, {3, 5}}});
  const TreeRecord record = replayed(small_pools(HostCopies::write_through_selective), batch).back();
  CHECK(record.kv_match_tokens == 30);
}

TEST_CASE("edge: without a slot for the tree's state beside the running one nothing is loaded") {
  const TraceBatch batch = batch_of({{{1, 30}}, {{2, 40}}, {{1, 30}, {3, 5}}});
  TreeSettings settings = small_pools(HostCopies::write_through);
  settings.state_slots = 1;
  TreeReplay replay(settings);
  TreeRecord last;
  for (const TraceRequest& request : batch.requests) last = replay.run(request, batch.prompt(request));
  CHECK(last.status == RequestStatus::ok);
  CHECK(last.kv_match_tokens == 30);
  CHECK(last.hit_tokens == 0);
  CHECK(replay.tree().host_counts().failed_loads == 1);
  CHECK(find_violations(replay).empty());
}

TEST_CASE("edge: of a host too full for a copy no more goes than what is missing") {
  // The pool holds six prompts of 10 tokens, all copied to a host of 70. The seventh, of 20, evicts two of them from
  // the pool, so two lie on the host alone; its copy lacks 10 tokens there, which one of the two frees.
  TreeReplay replay({.token_slots = 60, .strategy = TreeStrategy::no_buffer, .host = {.tokens = 70}});
  const TraceBatch batch = batch_of({{{1, 10}}, {{2, 10}}, {{3, 10}}, {{4, 10}}, {{5, 10}}, {{6, 10}}, {{7, 20}}});
  for (const TraceRequest& request : batch.requests)
    REQUIRE(replay.run(request, batch.prompt(request)).status == RequestStatus::ok);
  CHECK(replay.tree().evictions().tokens == 20);
  CHECK(replay.tree().host_counts() == TreeHostCounts{.written_tokens = 80, .evicted_tokens = 10});
  CHECK(replay.tree().free_host_tokens() == 0);
}

TEST_CASE("edge: what hangs below a node too large for the host is not copied either") {
  TreeReplay replay({.token_slots = 100, .strategy = TreeStrategy::no_buffer, .host = {.tokens = 30}});
  const TraceBatch batch = batch_of({{{1, 40}}, {{1, 40}, {2, 5}}, {{3, 20}}});
  for (const TraceRequest& request : batch.requests)
    REQUIRE(replay.run(request, batch.prompt(request)).status == RequestStatus::ok);
  CHECK(replay.tree().host_counts() == TreeHostCounts{.written_tokens = 20});
  CHECK(replay.tree().free_host_tokens() == 10);
}

TEST_CASE("law: pools, tree and host are sound after every action of random workloads") {
  std::int64_t loaded_tokens = 0, loaded_states = 0, left_host = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    TreeSettings settings = random_host_settings(dice);
    settings.numbers_pages = true;
    const TreeWorkload work(dice, 25);
    std::string violation;
    TreeReplay replay(settings);
    replay.after_action = [&] {
      if (!violation.empty()) return;
      const std::vector<std::string> violations = find_violations(replay);
      if (!violations.empty()) violation = violations.front();
    };
    settings.numbers_pages = false;
    TreeReplay counted(settings);
    for (const TraceRequest& request : work.batch.requests) {
      const TreeRecord& record = replay.run(request, work.batch.prompt(request));
      loaded_tokens += record.loaded_tokens;
      loaded_states += record.loaded_states;
      REQUIRE(record == counted.run(request, work.batch.prompt(request)));
    }
    REQUIRE(violation == "");
    left_host += replay.tree().host_counts().evicted_tokens;
  }
  CHECK(loaded_tokens > 500);
  CHECK(loaded_states > 100);
  CHECK(left_host > 500);
}

TEST_CASE("law: before an endless host KV matches as in an endless pool") {
  std::int64_t evicted = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    TreeSettings settings = random_tree_settings(dice);
    // Slots for one request and the nodes that it hits: none is turned away.
    settings.token_slots = settings.page * 240;
    settings.state_slots = settings.has_states() ? 12 : 0;
    settings.strategy = settings.page == 1 ? TreeStrategy::no_buffer : settings.strategy;
    if (settings.has_tracking()) settings.state_slots = 0;
    settings.host = {.tokens = settings.page * endless_host, .states = settings.has_states() ? endless_host : 0};
    const TreeWorkload work(dice, 60);
    TreeSettings larger = settings;
    larger.token_slots = settings.page * endless_host;
    larger.state_slots = settings.has_states() ? endless_host : 0;
    larger.host = {};
    const std::vector<TreeRecord> found = replayed(settings, work.batch), all = replayed(larger, work.batch);
    for (std::size_t i = 0; i < found.size(); ++i) {
      REQUIRE(found[i].status == RequestStatus::ok);
      REQUIRE(found[i].kv_match_tokens == all[i].kv_match_tokens);
      evicted += found[i].evicted_tokens;
    }
  }
  CHECK(evicted > 0);
}

TEST_CASE("law: over many workloads a host finds more where no state is taken at branches") {
  std::int64_t with = 0, without = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Dice dice(seed);
    TreeSettings settings = random_host_settings(dice);
    settings.strategy = TreeStrategy::no_buffer;
    settings.page = 1;
    settings.host = {.tokens = 10'000, .states = settings.has_states() ? 1'000 : 0};
    const TreeWorkload work(dice, 30);
    for (const TreeRecord& record : replayed(settings, work.batch)) with += record.hit_tokens;
    settings.host = {};
    for (const TreeRecord& record : replayed(settings, work.batch)) without += record.hit_tokens;
  }
  CHECK(with > without);
}
