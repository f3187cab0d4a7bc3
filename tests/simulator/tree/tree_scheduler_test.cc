// Several requests at once through a dual pool with a radix tree: with one in flight as one after the other, sound
// after every action with more, and small cases worked by hand from the rules.
#include "simulator/tree/tree_scheduler.h"

#include <doctest/doctest.h>

#include "simulator/tree/tree_invariants.h"
#include "tests/simulator/tree/tree_workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Requests of a workload with so many in flight at most; their records in the order in which they end.
struct ScheduledRun {
  ScheduledRun(const TreeSettings& settings, std::int64_t in_flight)
      : in_flight_(in_flight), scheduler(settings, [this](const TreeRecord& record) { records.push_back(record); }) {}

  void run(const TraceBatch& batch) {
    for (const TraceRequest& request : batch.requests) {
      while (scheduler.num_in_flight() >= in_flight_) step();
      scheduler.submit(request, batch.prompt(request));
    }
    while (scheduler.num_in_flight() > 0) step();
  }
  void step() {
    const StepWork work = scheduler.schedule();
    REQUIRE(!work.idle());
    most_running = std::max(most_running, scheduler.num_running());
    scheduler.complete();
  }

  std::int64_t in_flight_;
  std::vector<TreeRecord> records;
  TreeScheduler scheduler;
  std::int64_t most_running = 0;
};

}  // namespace

TEST_CASE("law: a scheduler of a radix tree with one request in flight runs one after the other") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    const TreeSettings settings = random_tree_settings(dice);
    const TreeWorkload work(dice, 30);
    ScheduledRun scheduled(settings, 1);
    scheduled.run(work.batch);
    TreeReplay replay(settings);
    REQUIRE(scheduled.records.size() == work.batch.requests.size());
    for (std::size_t i = 0; i < work.batch.requests.size(); ++i) {
      const TraceRequest& request = work.batch.requests[i];
      REQUIRE(scheduled.records[i] == replay.run(request, work.batch.prompt(request)));
    }
  }
}

TEST_CASE("law: a radix tree is sound after every action of several requests in flight, whose nodes stay") {
  std::int64_t beside = 0, retractions = 0, recomputed = 0, hit = 0, evicted = 0, refused = 0, stalled = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    TreeSettings settings = random_tree_settings(dice);
    settings.numbers_pages = true;
    settings.state_slots = settings.has_states() ? settings.state_slots + dice.roll(0, 16) : 0;
    settings.max_running = dice.roll(1, 6);
    TreeWorkload work(dice, 30);
    for (TraceRequest& request : work.batch.requests) request.output_length *= 3;
    ScheduledRun run(settings, dice.roll(2, 8));
    std::string violation;
    run.scheduler.after_action = [&] {
      if (!violation.empty()) return;
      const std::vector<std::string> violations = find_violations(run.scheduler);
      if (!violations.empty()) violation = violations.front();
    };
    run.run(work.batch);
    REQUIRE(violation == "");
    REQUIRE(run.records.size() == work.batch.requests.size());
    REQUIRE(run.most_running <= settings.max_running);
    beside += run.most_running > 1 ? 1 : 0;
    TreeEvictions booked;
    for (const TreeRecord& record : run.records) {
      retractions += record.retractions;
      recomputed += record.recomputed_tokens;
      hit += record.hit_tokens;
      booked.tokens += record.evicted_tokens;
      booked.states += record.evicted_states;
      refused += record.status == RequestStatus::refused ? 1 : 0;
      stalled += record.status == RequestStatus::stalled ? 1 : 0;
      if (record.status == RequestStatus::ok && settings.decodes)
        REQUIRE(record.generated == std::max<std::int64_t>(1, work.batch.requests[record.index].output_length));
    }
    evicted += booked.tokens;
    REQUIRE(booked.tokens == run.scheduler.tree().evictions().tokens);
    REQUIRE(booked.states == run.scheduler.tree().evictions().states);
    REQUIRE(find_violations(run.scheduler).empty());
  }
  CHECK(beside > 500);
  CHECK(std::min({hit, evicted, recomputed}) > 200);
  CHECK(std::min({retractions, refused, stalled}) > 20);
}

TEST_CASE("fault: a node of a request that waits for its next step leaves a radix tree") {
  ScheduledRun run({.token_slots = 64, .state_slots = 20, .model_chunk = 4, .track_interval = 4, .decodes = true,
                    .numbers_pages = true}, 2);
  TraceBatch batch = batch_of({{{1, 16}}, {{2, 16}}});
  for (TraceRequest& request : batch.requests) {
    request.output_length = 8;
    run.scheduler.submit(request, batch.prompt(request));
  }
  run.step();  // both prompts at once
  run.step();  // both decode
  REQUIRE(run.scheduler.num_running() == 2);
  REQUIRE(find_violations(run.scheduler).empty());
  auto& tree = TreePeek::tree(run.scheduler);
  const auto locked = run.scheduler.requests();
  REQUIRE(locked.size() == 2);
  REQUIRE(locked[0]->node != locked[1]->node);
  SUBCASE("though all of the pool is asked for, neither leaves") {
    tree.evict_tokens(64);
    tree.evict_states(20);
    CHECK(find_violations(run.scheduler).empty());
    CHECK(tree.num_nodes() == 2);
  }
  SUBCASE("without its lock the first leaves, which is found") {
    tree.unlock(locked[0]->node);
    tree.unlock_state(locked[0]->node);
    CHECK(!find_violations(run.scheduler).empty());
    tree.evict_tokens(64);
    CHECK(tree.num_nodes() == 1);
    const std::vector<std::string> violations = find_violations(run.scheduler);
    REQUIRE(!violations.empty());
    CHECK(violations.front().find("which is gone") != std::string::npos);
  }
  SUBCASE("a state without its lock leaves, which is found") {
    tree.unlock_state(locked[1]->node);
    tree.evict_states(20);
    const std::vector<std::string> violations = find_violations(run.scheduler);
    REQUIRE(!violations.empty());
    CHECK(violations.front().find("the state of node") != std::string::npos);
  }
}

TEST_CASE("prompts that come together find nothing of each other, later ones do") {
  // In grids of 4 a prompt of 23 tokens leaves a state at 20, once; the second copy of it goes back to the pool.
  ScheduledRun run({.token_slots = 400, .state_slots = 40, .model_chunk = 4, .track_interval = 4}, 2);
  run.run(batch_of({{{1, 23}}, {{1, 23}}, {{1, 23}}, {{1, 23}}}));
  REQUIRE(run.records.size() == 4);
  CHECK(run.most_running == 2);
  for (const std::int64_t i : {0, 1}) CHECK(run.records[i].hit_tokens == 0);
  for (const std::int64_t i : {2, 3}) CHECK(run.records[i].hit_tokens == 20);
  CHECK(run.records[0].states_made + run.records[1].states_made == 1);
  CHECK(run.scheduler.tree().num_tokens() == 20);
}

TEST_CASE("one prompt at a time is cut into chunks, and others wait for what it leaves of a step") {
  // A budget of 16: all of 10 and 6 of 20, then its 14 and 2 of the third.
  ScheduledRun run({.token_slots = 400, .state_slots = 60, .chunk_tokens = 16, .model_chunk = 4, .track_interval = 4},
                   3);
  run.run(batch_of({{{1, 10}}, {{2, 20}}, {{3, 12}}}));
  REQUIRE(run.records.size() == 3);
  CHECK(run.records[0].chunks == std::vector<std::int64_t>{10});
  CHECK(run.records[1].chunks == std::vector<std::int64_t>{6, 14});
  CHECK(run.records[2].chunks == std::vector<std::int64_t>{2, 10});
}

TEST_CASE("tokens wait that are of a prompt and not yet computed, whether their request is under way or not") {
  // The same requests: all of 10 and 6 of 20, then the other 14 and 2 of 12.
  ScheduledRun run({.token_slots = 400, .state_slots = 60, .chunk_tokens = 16, .model_chunk = 4, .track_interval = 4},
                   3);
  const TraceBatch batch = batch_of({{{1, 10}}, {{2, 20}}, {{3, 12}}});
  for (const TraceRequest& request : batch.requests) run.scheduler.submit(request, batch.prompt(request));
  CHECK(run.scheduler.waiting_tokens() == 10 + 20 + 12);
  run.step();
  CHECK(run.scheduler.waiting_tokens() == 14 + 12);
  run.step();
  CHECK(run.scheduler.waiting_tokens() == 10);
}

TEST_CASE("a decode without a page retracts the request that has generated least, which ends all the same") {
  // The first is promised 7/10 of its 29 tokens to come, the second 10 + 30: they fit 73 slots, where both need 78.
  TraceBatch batch = batch_of({{{1, 10}}, {{2, 10}}});
  for (TraceRequest& request : batch.requests) request.output_length = 30;
  ScheduledRun run({.token_slots = 73, .state_slots = 20, .model_chunk = 4, .track_interval = 4, .decodes = true}, 2);
  run.scheduler.submit(batch.requests[0], batch.prompt(batch.requests[0]));
  run.step();
  run.scheduler.submit(batch.requests[1], batch.prompt(batch.requests[1]));
  while (run.scheduler.num_in_flight() > 0) run.step();
  REQUIRE(run.records.size() == 2);
  CHECK(run.records[0].index == 0);
  CHECK(run.records[0].retractions == 0);
  CHECK(run.records[1].retractions == 1);
  CHECK(run.records[1].recomputed_tokens > 0);
  for (const TreeRecord& record : run.records) {
    CHECK(record.status == RequestStatus::ok);
    CHECK(record.generated == 30);
  }
}

TEST_CASE("after a retraction those that go on are promised the share that they have generated, and 20 steps more") {
  // Two requests of two tokens leave 152 of 156 slots, which last for 76 steps. Then the second gives its 78 back, and
  // the first, which has generated 77 tokens of 100, takes one of them. Of the 22 that it may still generate it is
  // promised (77 + 20) / (100 + 1), 21.13 tokens, which leaves 55.87 of 77: a prompt of 53 asks for 55 with the token
  // that it generates and a page, one of 54 for 56.
  for (const std::int64_t third : {53, 54}) {
    CAPTURE(third);
    TraceBatch batch = batch_of({{{1, 2}}, {{2, 2}}, {{3, third}}}, 1);
    batch.requests[0].output_length = 100;
    batch.requests[1].output_length = 78;
    ScheduledRun run({.token_slots = 156, .state_slots = 20, .decodes = true}, 3);
    const auto submit = [&](std::size_t i) {
      run.scheduler.submit(batch.requests[i], batch.prompt(batch.requests[i]));
    };
    submit(0);
    run.step();
    submit(1);
    for (int step = 0; step < 1 + 76; ++step) run.step();
    REQUIRE(run.scheduler.num_running() == 2);
    REQUIRE(run.scheduler.tree().token_pool().free_tokens() == 0);
    submit(2);
    run.step();  // the second waits again, behind the third
    REQUIRE(run.scheduler.num_running() == 1);
    REQUIRE(run.scheduler.num_waiting() == 2);
    REQUIRE(run.scheduler.tree().token_pool().free_tokens() == 77);
    run.step();
    CHECK(std::ssize(run.records) == (third == 53 ? 1 : 0));
    while (run.scheduler.num_in_flight() > 0) run.step();
    REQUIRE(run.records.size() == 3);
    for (const TreeRecord& record : run.records) CHECK(record.status == RequestStatus::ok);
  }
}

TEST_CASE("those that decode are promised less with every step, also while others come") {
  // The first request has generated 51 tokens, 50 of them in steps of their own, so with its prompt of two it takes 52
  // of 114 slots. Of the 49 that it may still generate it is promised the share 0.7 less 50 times 0.602 / 600, 31.84
  // tokens, which leaves 30.16: a prompt of 28 asks for 30 with the token that it generates and a page, one of 29 for
  // 31. By a share of 0.7 as at the beginning 27.7 would be left.
  for (const std::int64_t second : {28, 29}) {
    CAPTURE(second);
    TraceBatch batch = batch_of({{{1, 2}}, {{2, second}}}, 1);
    batch.requests[0].output_length = 100;
    ScheduledRun run({.token_slots = 114, .decodes = true}, 2);
    run.scheduler.submit(batch.requests[0], batch.prompt(batch.requests[0]));
    for (int step = 0; step < 1 + 50; ++step) run.step();
    REQUIRE(run.scheduler.tree().token_pool().free_tokens() == 62);
    run.scheduler.submit(batch.requests[1], batch.prompt(batch.requests[1]));
    run.step();
    CHECK(std::ssize(run.records) == (second == 28 ? 1 : 0));
  }
}

TEST_CASE("a retraction makes room for 20 steps of each that goes on, of what the retracted one leaves in the tree") {
  // Beside 40 tokens of prompts three requests generate one token a step each in 90 slots: these last for 30 steps.
  // Then the one with the longest prompt gives 30 slots back, and its prompt of 20 tokens, which lies in the tree for
  // nobody, goes too: 2 x 20 are to be free. Of the 50 the other two take one each.
  TraceBatch batch = batch_of({{{1, 10}}, {{2, 10}}, {{3, 20}}}, 37);
  ScheduledRun run({.token_slots = 130, .decodes = true}, 3);
  for (const TraceRequest& request : batch.requests) {
    run.scheduler.submit(request, batch.prompt(request));
    run.step();
  }
  REQUIRE(run.scheduler.num_running() == 3);
  for (int step = 0; step < 30; ++step) run.step();
  REQUIRE(run.scheduler.tree().token_pool().free_tokens() == 0);
  REQUIRE(run.scheduler.tree().evictions().tokens == 0);
  run.step();
  CHECK(run.scheduler.num_running() == 2);
  CHECK(run.scheduler.tree().evictions().tokens == 20);
  CHECK(run.scheduler.tree().token_pool().free_tokens() == 50 - 2);
  while (run.scheduler.num_in_flight() > 0) run.step();
  REQUIRE(run.records.size() == 3);
  CHECK(run.records[2].index == 2);
  CHECK(run.records[2].retractions == 1);
}
