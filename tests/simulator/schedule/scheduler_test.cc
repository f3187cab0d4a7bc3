// Decode, several requests in flight, preemption and the other modelled rules, in examples worked out by hand.
#include "simulator/schedule/scheduler.h"

#include <doctest/doctest.h>

#include "simulator/blocks/closed_form.h"
#include "tests/close_to.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

CacheGeometry small(std::int64_t num_blocks, std::int64_t state_groups) {
  return {.block_size_tokens = 4, .num_blocks = num_blocks, .state_groups = state_groups, .mode = CacheMode::align};
}

DriverSpec closed_loop(std::int64_t in_flight) {
  return {.kind = DriverKind::closed_loop, .in_flight = in_flight, .cost = {.per_prefill_token = 1}};
}

const RequestRecord& of(const Run& result, std::int64_t index) {
  for (const RequestRecord& record : result.records)
    if (record.index == index) return record;
  throw std::logic_error("no such request");
}

}  // namespace

TEST_CASE("edge: decode crosses block boundaries and leaves a checkpoint at each") {
  // Prompt 6, 7 tokens to generate, block 4. Computed after each step: 4 | 6 | 7, 8 | 9, 10, 11, 12 |.
  // Each crossing copies the state (step 2 and the step to 9); at 9 two states and three attention blocks are held.
  const Run result = run(small(20, 1), closed_loop(1), batch_of({{{1, 6}}}, 7));
  CHECK(result.stats.steps == 8);
  CHECK(result.stats.generated_tokens == 7);
  CHECK(result.stats.pool.checkpoints_made == 3);
  CHECK(result.stats.copied_states == 2);
  CHECK(result.stats.max_held_blocks == 5);
  CHECK(result.stats.max_held_state_blocks == 2);
  CHECK(of(result, 0).num_chunks == 2);
  CHECK(result.stats.modelled == std::vector{ModelledRule::decode});
}

TEST_CASE("edge: drafts that come true are generated in one step, which ends where a state is kept") {
  // The same with two drafts that are always right. Computed after each step: 4 | 6 | 8 | 11, 12 |.
  CacheGeometry geometry = small(40, 1);
  geometry.speculative_tokens = 2;
  geometry.scheduler.acceptance = 1;
  const Run result = run(geometry, closed_loop(1), batch_of({{{1, 6}}}, 7));
  CHECK(result.stats.steps == 5);
  CHECK(result.stats.generated_tokens == 7);
  CHECK(result.stats.pool.checkpoints_made == 3);
  // Half as often 1 + 0.5 + 0.25 tokens a step: 1, 2.75, 4.5, 6.25, 8; only whole ones are known.
  geometry.state_groups = 0;
  geometry.scheduler.acceptance = 0.5;
  CHECK(run(geometry, closed_loop(1), batch_of({{{1, 6}}}, 8)).stats.steps == 5);
  geometry.scheduler.acceptance = 1.5;
  CHECK_THROWS_AS(run(geometry, closed_loop(1), batch_of({{{1, 6}}}, 8)), SpecError);
}

TEST_CASE("law: drafts that come true change when tokens are generated, not how many, and never take more steps") {
  std::int64_t fewer = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    CacheGeometry geometry = random_geometry(dice);
    geometry.speculative_tokens = dice.roll(1, 3);
    geometry.num_blocks = 400;
    const TraceBatch batch = random_batch(dice, 6, 40, 30);
    const Run none = run(geometry, closed_loop(1), batch);
    geometry.scheduler.acceptance = static_cast<double>(dice.roll(0, 10)) / 10;
    const Run some = run(geometry, closed_loop(1), batch);
    REQUIRE(some.stats.generated_tokens == none.stats.generated_tokens);
    REQUIRE(some.stats.hit_tokens == none.stats.hit_tokens);
    REQUIRE(some.stats.steps <= none.stats.steps);
    fewer += some.stats.steps < none.stats.steps ? 1 : 0;
  }
  CHECK(fewer > 100);
}

TEST_CASE("edge: what a request generated is found by nobody else") {
  // The second prompt goes on where the first one's output began; only the first block of the prompt is shared.
  const Run result = run(small(20, 1), closed_loop(1), batch_of({{{1, 6}}, {{1, 6}, {2, 10}}}, 7));
  CHECK(of(result, 1).hit_tokens == 4);
}

TEST_CASE("edge: the request admitted last is preempted and prefilled again with its output") {
  // Six usable blocks; both prompts take 2, with 12 computed tokens 3 each. Step 6: A needs a fourth, B is preempted
  // with 12 computed and 13 known tokens and A takes B's last block. B's whole 13 tokens fit only after A ended
  // (step 9). Step 10: B finds its first 8 tokens, computes 5, of which 4 again, and takes two of A's blocks.
  const Run result = run(small(7, 0), closed_loop(2), batch_of({{{1, 8}}, {{2, 8}}}, 9));
  CHECK(result.stats.steps == 13);
  CHECK(result.stats.preemptions == 1);
  CHECK(of(result, 0).preemptions == 0);
  CHECK(of(result, 1).preemptions == 1);
  CHECK(of(result, 1).reprefilled_tokens == 4);
  CHECK(result.stats.reprefilled_tokens == 4);
  CHECK(of(result, 1).num_chunks == 1);
  CHECK(result.stats.generated_tokens == 18);
  CHECK(of(result, 0).evictions == 1);
  CHECK(of(result, 1).evictions == 2);
}

TEST_CASE("edge: a preempted request finds its own checkpoints again, also of what it generated") {
  // Eight usable blocks. Step 1: both compute 4 of 6 tokens (a block and a state each), step 2 the rest (two of each:
  // all eight are held), steps 3 and 4 decode tokens 7 and 8; the checkpoints at 4 go back. Step 5, token 9: A takes a
  // block and a state, which drops both checkpoints at 4, and ends; nothing is left for B, which is preempted with 8
  // computed tokens. Step 6: B finds all 8 in its published blocks and its checkpoint at 8, and computes one token.
  const Run result = run(small(9, 1), closed_loop(2), batch_of({{{1, 6}}, {{2, 6}}}, 4));
  CHECK(result.stats.steps == 6);
  CHECK(result.stats.max_held_blocks == 8);
  CHECK(of(result, 0).evictions == 2);
  CHECK(of(result, 1).preemptions == 1);
  CHECK(of(result, 1).reprefilled_tokens == 0);
  CHECK(of(result, 1).hit_tokens == 0);
  CHECK(of(result, 1).evictions == 0);
  CHECK(result.stats.generated_tokens == 8);
}

TEST_CASE("edge: a checkpoint made in a step is used from the next step on, and nobody overtakes who waits for it") {
  // Step 1: A computes 4 of 6 tokens. B would hit the state A just made, so B and C behind it wait for step 2.
  const Run result = run(small(40, 1), closed_loop(3), batch_of({{{1, 6}}, {{1, 6}}, {{3, 3}}}, 1));
  CHECK(of(result, 0).queue_seconds == 0);
  CHECK(of(result, 1).queue_seconds == 4);
  CHECK(of(result, 1).hit_tokens == 4);
  CHECK(of(result, 2).queue_seconds == 4);
  CHECK(result.stats.steps == 2);
}

TEST_CASE("edge: attention published in a step is found in the same step") {
  const Run result = run(small(40, 0), closed_loop(2), batch_of({{{1, 6}}, {{1, 6}}}, 1));
  CHECK(of(result, 1).hit_tokens == 4);
  CHECK(result.stats.steps == 1);
}

TEST_CASE("edge: running requests are served first, then waiting ones while the budget lasts") {
  CacheGeometry geometry = small(40, 1);
  geometry.max_num_batched_tokens = 5;
  Scheduler scheduler(geometry, false, [](const RequestRecord&) {});
  const TraceBatch batch = batch_of({{{1, 2}}, {{2, 2}}, {{3, 8}}, {{4, 2}}}, 3);
  const auto submit = [&](int i) { scheduler.submit(batch.requests[i], batch.prompt(batch.requests[i])); };
  submit(0);
  submit(1);
  CHECK(scheduler.schedule(0).prefill_tokens == 4);
  scheduler.complete(0);
  submit(2);
  submit(3);
  // Two decodes leave 3 of 5 tokens: no whole block of the third prompt, and the fourth must not overtake it.
  const StepWork work = scheduler.schedule(0);
  CHECK(work.decoded_requests == 2);
  CHECK(work.prefill_tokens == 0);
  CHECK(scheduler.num_running() == 2);
  scheduler.complete(0);
  scheduler.schedule(0);
  scheduler.complete(0);  // both have generated 3 tokens and end
  CHECK(scheduler.num_running() == 0);
  CHECK(scheduler.schedule(0).prefill_tokens == 5);  // a block of the third prompt, one token of the fourth
  CHECK(scheduler.num_running() == 2);
}

TEST_CASE("edge: at most max_num_seqs requests run") {
  CacheGeometry geometry = small(40, 0);
  geometry.scheduler.max_num_seqs = 2;
  const Run result = run(geometry, closed_loop(5), batch_of({{{1, 4}}, {{2, 4}}, {{3, 4}}}, 2));
  CHECK(result.stats.max_running == 2);
  CHECK(of(result, 2).queue_seconds == 8);
}

TEST_CASE("edge: no more requests run than an arena of windows has room for") {
  CacheGeometry geometry = small(40, 0);
  geometry.max_num_batched_tokens = 8;
  geometry.more_arenas = {1 + 2 * 3};
  geometry.held_groups = {{.arena = 1, .rule = table_of_tokens({MaskKind::sliding_window, 3}, 4, 1, {.batch = 8})}};
  // A request of at least 8 tokens holds ceil(min(3 - 1 + 8, L) / 4) + 1 of its blocks.
  const Run result = run(geometry, closed_loop(5), batch_of({{{1, 4}}, {{2, 4}}, {{3, 4}}}, 2));
  CHECK(result.stats.max_running == 2);
  CHECK(of(result, 2).queue_seconds == 8);
}

TEST_CASE("edge: a watermark keeps blocks free at admission beside others only") {
  // 10 usable blocks, floor(0.3 * 11) = 3 kept free. A takes 4; B needs 4 and 3 free ones of 6.
  CacheGeometry geometry = small(11, 0);
  CHECK(run(geometry, closed_loop(2), batch_of({{{1, 16}}, {{2, 16}}}, 1)).stats.max_running == 2);
  geometry.scheduler.watermark = 0.3;
  CHECK(run(geometry, closed_loop(2), batch_of({{{1, 16}}, {{2, 16}}}, 1)).stats.max_running == 1);
  CHECK(run(geometry, closed_loop(2), batch_of({{{1, 16}}, {{2, 12}}}, 1)).stats.max_running == 2);
  CHECK(run(geometry, closed_loop(1), batch_of({{{1, 40}}}, 1)).stats.refused == 0);
}

TEST_CASE("edge: extra blocks are held while a request runs") {
  CacheGeometry geometry = small(8, 0);
  geometry.extra_blocks_per_request = 2;
  const Run result = run(geometry, closed_loop(1), batch_of({{{1, 20}}, {{2, 21}}}, 1));
  CHECK(of(result, 0).status == RequestStatus::ok);
  CHECK(of(result, 1).status == RequestStatus::refused);
  CHECK(result.stats.max_held_blocks == 7);
}

TEST_CASE("edge: a window that is not found again is held as long as its request, and grows with what it generates") {
  CacheGeometry geometry = small(8, 0);
  geometry.held_groups = {{.rule = table_of_tokens({MaskKind::sliding_window, 9}, 4, 1, {.batch = 64})}};
  // Tokens 1 to 4 and 5 to 8: a block of attention each; the window has ceil(L / 4) + 1 of them.
  Run result = run(geometry, closed_loop(1), batch_of({{{1, 4}}, {{1, 4}}}, 4));
  CHECK(of(result, 1).status == RequestStatus::ok);
  CHECK(result.stats.max_held_blocks == 2 + 3);
  CHECK(request_block_ids(geometry, 8) == 2 + 3);
  geometry.num_blocks = 5;
  result = run(geometry, closed_loop(1), batch_of({{{1, 4}}}, 4));
  CHECK(of(result, 0).status == RequestStatus::stalled);
  CHECK(longest_request(geometry) == 4);
}

TEST_CASE("edge: speculative states are held beside the running one, a crossing takes one block") {
  // s = 2: first chunk 1 + 2 states, from the crossing on one more until the next step.
  CacheGeometry geometry = small(20, 1);
  geometry.speculative_tokens = 2;
  const Run result = run(geometry, closed_loop(1), batch_of({{{1, 6}}}, 1));
  CHECK(result.stats.max_held_state_blocks == 4);
  CHECK(result.stats.max_held_blocks == 6);
}

TEST_CASE("edge: mode none keeps one state per request and finds nothing again") {
  CacheGeometry geometry = small(20, 2);
  geometry.mode = CacheMode::none;
  const Run result = run(geometry, {}, copies_of({{1, 10}}, 3));
  CHECK(result.stats.hit_tokens == 0);
  CHECK(result.stats.pool.publications == 0);
  CHECK(result.stats.max_held_state_blocks == 2);
  CHECK(result.stats.modelled == std::vector{ModelledRule::states_without_caching});
}

TEST_CASE("edge: a drafter drops the last matched block, and the last checkpoint lies one block earlier") {
  // 14 tokens, block 4. Without: checkpoint at 12, the copy hits 12. With: chunks 8 and 6, checkpoint at 8. The copy's
  // attention matches 8 tokens for the state at 8 and one block further, which is dropped.
  for (const std::int64_t state_groups : {0, 1}) {
    CacheGeometry geometry = small(40, state_groups);
    CHECK(of(run(geometry, {}, copies_of({{1, 14}}, 2)), 1).hit_tokens == 12);
    geometry.drafter_drops_block = true;
    const Run result = run(geometry, {}, copies_of({{1, 14}}, 2));
    CHECK(of(result, 1).hit_tokens == 8);
    CHECK(of(run(geometry, {}, copies_of({{1, 7}}, 2)), 1).hit_tokens == 0);
    CHECK(result.stats.modelled == std::vector{ModelledRule::drafter});
  }
}

TEST_CASE("edge: every attention group takes blocks of its own") {
  CacheGeometry geometry = small(20, 0);
  geometry.attention_groups = 2;
  const Run result = run(geometry, {}, copies_of({{1, 6}}, 2));
  CHECK(result.stats.max_held_blocks == 4);
  CHECK(of(result, 1).hit_tokens == 4);
  CHECK(result.stats.modelled == std::vector{ModelledRule::several_attention_groups});
  geometry.num_blocks = 4;
  CHECK(of(run(geometry, {}, copies_of({{1, 6}}, 1)), 0).status == RequestStatus::refused);
}

TEST_CASE("edge: a long-prefill threshold shares a step's budget among prompts") {
  // Budget 16, threshold 8: step 1 takes 8 tokens of each of two prompts, step 2 the other 8 of both.
  CacheGeometry geometry = small(40, 1);
  geometry.max_num_batched_tokens = 16;
  CHECK(of(run(geometry, closed_loop(2), batch_of({{{1, 16}}, {{2, 16}}}, 1)), 1).queue_seconds == 16);
  geometry.scheduler.long_prefill_threshold = 8;
  const Run result = run(geometry, closed_loop(2), batch_of({{{1, 16}}, {{2, 16}}}, 1));
  CHECK(of(result, 1).queue_seconds == 0);
  CHECK(result.stats.steps == 2);
}

TEST_CASE("edge: a retention interval keeps its multiples, the last boundary and the branch point") {
  CacheGeometry geometry = small(60, 1);
  geometry.max_num_batched_tokens = 4;  // chunks of one block: states at 4, 8, 12, 16, 20
  const auto made = [&](std::optional<std::int64_t> interval) {
    geometry.retention_interval_tokens = interval;
    return run(geometry, {}, batch_of({{{1, 22}}})).stats.pool.checkpoints_made;
  };
  CHECK(made(std::nullopt) == 5);
  CHECK(made(8) == 3);   // 8, 16 and the last, 20
  CHECK(made(12) == 2);  // 12 and 20
  CHECK(made(0) == 1);   // 20
  // The second prompt shares 12 tokens: no state at 12, so it makes one there for the third, interval 0 or not.
  geometry.max_num_batched_tokens = 64;
  const Run result = run(geometry, {}, batch_of({{{1, 22}}, {{1, 12}, {2, 8}}, {{1, 12}, {3, 8}}}));
  CHECK(of(result, 1).uncached_common == 12);
  CHECK(of(result, 2).hit_tokens == 12);
}

TEST_CASE("edge: a match unit below the block finds partial tails and copies them before they are written") {
  // Block 8, unit 2, 13 tokens: chunks 8, 4, 1, checkpoints at 8 and 12. The state is copied at the crossing to the
  // second block, and as a shared one before the last chunk, as is the attention tail. The second copy hits 12 and
  // copies both again.
  CacheGeometry geometry = small(40, 1);
  geometry.block_size_tokens = 8;
  geometry.match_unit_tokens = 2;
  const Run first = run(geometry, {}, copies_of({{1, 13}}, 1));
  CHECK(of(first, 0).num_chunks == 3);
  CHECK(first.stats.pool.checkpoints_made == 2);
  CHECK(first.stats.copied_attention_blocks == 1);
  CHECK(first.stats.copied_states == 2);
  const Run both = run(geometry, {}, copies_of({{1, 13}}, 2));
  CHECK(of(both, 1).hit_tokens == 12);
  CHECK(both.stats.copied_attention_blocks == 2);
  CHECK(both.stats.copied_states == 3);
  CHECK(both.stats.modelled == std::vector{ModelledRule::match_unit});
  geometry.match_unit_tokens = 8;
  CHECK(of(run(geometry, {}, copies_of({{1, 13}}, 2)), 1).hit_tokens == 8);
}

TEST_CASE("edge: open loop, times by the cost model") {
  // Step 1 [0, 0.008]: A prefills 8. B arrives at 0.005. Step 2 [0.008, 0.022]: A decodes, B prefills 4.
  // Step 3 [0.022, 0.032]: A decodes its last token.
  TraceBatch batch;
  add_request(batch, {{1, 8}}, 3, 0);
  add_request(batch, {{2, 4}}, 1, 0.005);
  const DriverSpec driver{.kind = DriverKind::open_loop, .cost = {.per_prefill_token = 0.001, .per_decode_step = 0.01}};
  const Run result = run(small(40, 0), driver, batch);
  CHECK(of(result, 0).first_token_seconds == close_to(0.008));
  CHECK(of(result, 0).finish_seconds == close_to(0.032));
  CHECK(of(result, 1).queue_seconds == close_to(0.003));
  CHECK(of(result, 1).first_token_seconds == close_to(0.017));
  CHECK(result.stats.seconds == close_to(0.032));
  CHECK(result.stats.queueing.max() == close_to(0.003));
}

TEST_CASE("edge: an idle open loop waits for the next arrival") {
  TraceBatch batch;
  add_request(batch, {{1, 8}}, 1, 1);
  add_request(batch, {{2, 4}}, 1, 100);
  const DriverSpec driver{.kind = DriverKind::open_loop, .cost = {.per_prefill_token = 0.5, .per_copied_state = 1}};
  const Run result = run(small(40, 0), driver, batch);
  CHECK(of(result, 0).first_token_seconds == doctest::Approx(4));
  CHECK(of(result, 1).queue_seconds == 0);
  CHECK(result.stats.seconds == doctest::Approx(102));
}

TEST_CASE("edge: unusable settings are refused with the numbers") {
  CacheGeometry geometry = small(10, 1);
  geometry.max_num_batched_tokens = 3;
  CHECK_THROWS_WITH_AS(Simulation{geometry}, doctest::Contains("a budget of 3 below the block of 4 tokens"), SpecError);
  geometry = small(10, 1);
  geometry.scheduler.long_prefill_threshold = 2;
  CHECK_THROWS_WITH_AS(Simulation{geometry}, doctest::Contains("a threshold of 2 below the block of 4"), SpecError);
  geometry = small(10, 1);
  geometry.match_unit_tokens = 3;
  CHECK_THROWS_WITH_AS(Simulation{geometry}, doctest::Contains("3 does not divide the block of 4"), SpecError);
  CHECK_THROWS_WITH_AS(Simulation{small(1, 1)}, doctest::Contains("must be 2 to 2147483648, is 1"), SpecError);
  CHECK_THROWS_WITH_AS((Simulation{small(9, 1), {.kind = DriverKind::open_loop}}),
                       doctest::Contains("the open loop needs seconds"), SpecError);
  CHECK_THROWS_WITH_AS((Simulation{small(9, 1), {.in_flight = 0}}), doctest::Contains("at least 1, is 0"), SpecError);
  const auto with_seconds = [](double seconds) {
    return Simulation{small(9, 1), {.cost = {.per_copied_state = seconds}}};
  };
  CHECK_THROWS_WITH_AS(with_seconds(1e9), doctest::Contains("driver.cost.per_copied_state"), SpecError);
  CHECK_THROWS_AS(with_seconds(-1), SpecError);
  CHECK_THROWS_WITH_AS((Simulation{small(9, 1), {.think_seconds = 5}}), doctest::Contains("take driver closed_loop"),
                       SpecError);
  CHECK_NOTHROW(with_seconds(0.9e9));
}

TEST_CASE("rule: tokens wait that are of a prompt and not yet computed, whether their request runs or not") {
  CacheGeometry geometry = small(40, 0);
  geometry.max_num_batched_tokens = 5;
  Scheduler scheduler(geometry, false, [](const RequestRecord&) {});
  const TraceBatch batch = batch_of({{{1, 8}}, {{2, 6}}}, 3);
  for (const TraceRequest& request : batch.requests) scheduler.submit(request, batch.prompt(request));
  CHECK(scheduler.waiting_tokens() == 8 + 6);
  scheduler.schedule(0);  // five of the first
  scheduler.complete(0);
  CHECK(scheduler.waiting_tokens() == 3 + 6);
  scheduler.schedule(0);  // its last three, and two of the second
  scheduler.complete(0);
  CHECK(scheduler.waiting_tokens() == 4);
}

TEST_CASE("fault: a prompt is as long as its request says") {
  Scheduler scheduler(small(40, 0), true, [](const RequestRecord&) {});
  CHECK_THROWS_WITH_AS(scheduler.submit({.input_length = 4}, std::vector<TokenRun>{{5, 1}}),
                       doctest::Contains("the runs of a prompt make its length"), std::logic_error);
}

TEST_CASE("edge: the largest pool there is costs what is used of it, and finds what a small one finds") {
  const TraceBatch batch = copies_of({{1, 100}}, 20);
  Simulation large{small(std::int64_t{1} << 31, 1)}, enough{small(1000, 1)};
  for (Simulation* const simulation : {&large, &enough}) simulation->consume(batch);
  const SimulationStats stats = large.finish();
  CHECK(stats.hit_tokens > 0);
  CHECK(stats.hit_tokens == enough.finish().hit_tokens);
  CHECK(large.scheduler().cache().pool().num_blocks() == std::int64_t{1} << 31);
  CHECK(large.scheduler().cache().pool().num_known() < 1000);
}
