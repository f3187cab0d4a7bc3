// Who is admitted, who gives way, and what is computed again.
#include "clock/engine_loop.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace hybridkv;

namespace {

/// Tokens of prompts of the next step.
double next_prompts(EngineLoop& loop) {
  loop.next();
  return loop.middle(1).prompt_tokens;
}

}  // namespace

TEST_CASE("golden: the request admitted last gives way, waits a step, and computes again what it had") {
  EngineLoop loop({.budget = 1000, .cache_tokens = 203}, {});
  loop.submit({.index = 0, .prompt = 100, .outputs = 50});
  loop.submit({.index = 1, .prompt = 100, .outputs = 50});
  CHECK(next_prompts(loop) == 200);
  loop.complete(1);
  CHECK(next_prompts(loop) == 0);  // 202 tokens: not both can take a step
  CHECK(loop.num_running() == 1);
  CHECK(loop.num_waiting() == 1);
  loop.complete(1);
  CHECK(next_prompts(loop) == 101);
  CHECK(loop.num_running() == 2);
}

TEST_CASE("golden: a request that reserves its output is admitted when another has ended") {
  EngineLoop loop({.budget = 1000, .cache_tokens = 203, .reserves_outputs = true}, {});
  std::int64_t ended = -1;
  loop.on_end = [&](std::int64_t index) { ended = index; };
  loop.submit({.index = 7, .prompt = 100, .outputs = 3});
  loop.submit({.index = 8, .prompt = 100, .outputs = 3});
  CHECK(next_prompts(loop) == 100);
  loop.complete(1);
  loop.next();
  CHECK(loop.most_steps() == 2);
  loop.complete(2);
  CHECK(ended == 7);
  CHECK(next_prompts(loop) == 100);
}

TEST_CASE("golden: the room of a request that has ended is another's while a third still runs") {
  EngineLoop loop({.budget = 1000, .cache_tokens = 203, .reserves_outputs = true}, {});
  loop.submit({.index = 0, .prompt = 100, .outputs = 3});
  loop.submit({.index = 1, .prompt = 50, .outputs = 40});
  loop.submit({.index = 2, .prompt = 100, .outputs = 3});
  CHECK(next_prompts(loop) == 150);  // 103 and 90 tokens, which leave 10
  loop.complete(1);
  CHECK(next_prompts(loop) == 0);
  CHECK(loop.most_steps() == 2);
  loop.complete(2);  // the first ends, and leaves 103 to the last
  CHECK(next_prompts(loop) == 100);
  CHECK(loop.num_running() == 2);
}

TEST_CASE("golden: loads of what was found are waited for once, in the step that admits it, by all ranks") {
  for (const bool by_layer : {false, true}) {
    const auto loads = by_layer ? &StepBatch::loaded_beside_seconds : &StepBatch::loaded_seconds;
    const auto others = by_layer ? &StepBatch::loaded_seconds : &StepBatch::loaded_beside_seconds;
    EngineLoop loop({.budget = 100, .loads_by_layer = by_layer}, {});
    loop.submit({.index = 0, .prompt = 300, .found = 150, .outputs = 2, .load_seconds = 0.5});
    loop.next();
    CHECK(loop.middle(1).*loads == 0.5);
    CHECK(loop.middle(1).*others == 0);
    loop.complete(1);
    CHECK(next_prompts(loop) == 50);
    CHECK(loop.middle(1).*loads == 0);
    // Of two ranks the one with more rows waits for what the other one loads.
    EngineLoop two({.budget = 1000, .ranks = 2, .loads_by_layer = by_layer}, {});
    two.submit({.index = 0, .prompt = 100, .found = 90, .outputs = 2, .load_seconds = 0.25});
    two.submit({.index = 1, .prompt = 500, .outputs = 2});
    CHECK(next_prompts(two) == 500);
    CHECK(two.middle(1).*loads == 0.25);
    CHECK(two.middle(1).*others == 0);
  }
}

TEST_CASE("edge: what was found is read, not computed") {
  EngineLoop loop({.budget = 1000}, {});
  loop.submit({.index = 0, .prompt = 900, .found = 800, .outputs = 1});
  loop.next();
  const StepBatch batch = loop.middle(1);
  CHECK(batch.prompt_tokens == 100);
  CHECK(batch.prompt_context == 900);
  CHECK(batch.prompt_pairs == 100 * (800 + 50));
}

TEST_CASE("golden: a prompt computed elsewhere needs a place alone; who gives way has it computed again") {
  EngineLoop loop({.budget = 1000, .cache_tokens = 204, .request_tokens = 1}, {});
  std::int64_t first = -1, ended = -1;
  loop.on_first_token = [&](std::int64_t index) { first = index; };
  loop.on_end = [&](std::int64_t index) { ended = index; };
  loop.submit({.index = 0, .prompt = 100, .outputs = 4, .prefilled = true});
  loop.submit({.index = 1, .prompt = 100, .outputs = 4, .prefilled = true});
  CHECK(loop.waiting_tokens() == 0);
  loop.next();
  CHECK(loop.num_running() == 2);  // 100 tokens, 1 generated elsewhere, and room for states of each
  CHECK(loop.middle(1).decoding == 2);
  CHECK(loop.middle(1).prompt_tokens == 0);
  CHECK(first == -1);
  CHECK(loop.most_steps() == 1);  // the first token of each is told with it
  loop.complete(1);
  CHECK(first == 1);
  loop.next();
  CHECK(loop.num_running() == 1);
  CHECK(loop.middle(1).decode_context == 102);
  loop.complete(1);
  CHECK(next_prompts(loop) == 0);  // its 102 tokens do not fit yet
  loop.complete(1);
  CHECK(ended == 0);
  CHECK(next_prompts(loop) == 102);
}

TEST_CASE("golden: three drafts of which each is right with 0.7 yield 2.53 tokens a step, so 100 take 40 steps") {
  const Drafts drafts{.tokens = 3, .acceptance = 0.7};
  CHECK(drafts.tokens_of_step() == doctest::Approx(1 + 0.7 + 0.49 + 0.343));
  EngineLoop loop({.budget = 1000, .drafts = drafts}, {});
  std::int64_t ended = 0;
  loop.on_end = [&](std::int64_t) { ++ended; };
  loop.submit({.index = 0, .prompt = 100, .outputs = 100});
  loop.next();
  CHECK(loop.middle(1).sampled == 1);
  loop.complete(1);
  loop.next();
  const StepBatch batch = loop.middle(1);
  CHECK(batch.decode_rows == 4);
  CHECK(batch.draft_passes == 3);
  CHECK(loop.most_steps() == 40);  // 99 tokens behind the first
  loop.complete(40);
  CHECK(ended == 1);
}

TEST_CASE("law: drafts that are never right yield what no drafts do, those that always are 1 + d times as much") {
  CHECK(rc::check([] {
    const std::int64_t tokens = *rc::gen::inRange(0, 8);
    RC_ASSERT((Drafts{.tokens = tokens, .acceptance = 0}.tokens_of_step()) == 1);
    RC_ASSERT((Drafts{.tokens = tokens, .acceptance = 1}.tokens_of_step()) == static_cast<double>(1 + tokens));
  }));
}

TEST_CASE("golden: ranks with requests of their own take steps together; the fullest one's is counted") {
  EngineLoop loop({.budget = 1000, .ranks = 2}, {});
  for (std::int64_t i = 0; i < 3; ++i) loop.submit({.index = i, .prompt = 100 * (i + 1), .outputs = 5});
  loop.next();
  const StepBatch batch = loop.middle(1);
  CHECK(batch.prompt_tokens == 100 + 300);  // the first and the third
  CHECK(batch.prompts == 2);
  CHECK(batch.elsewhere_rows == 200);
  CHECK(loop.num_running() == 3);
  loop.complete(1);
  loop.next();
  CHECK(loop.middle(1).decoding == 2);
  CHECK(loop.middle(1).elsewhere_rows == 1);
  CHECK(loop.most_steps() == 4);
}

TEST_CASE("golden: a whole prompt waits for a step that has room for it, one that no step could take is cut") {
  EngineLoop loop({.budget = 1000, .whole_prompts = true}, {});
  for (std::int64_t index = 0; index < 2; ++index) loop.submit({.index = index, .prompt = 600, .outputs = 9});
  CHECK(next_prompts(loop) == 600);
  loop.complete(1);
  CHECK(next_prompts(loop) == 600);
  loop.complete(1);
  // Two generate: 998 tokens are left for prompts.
  loop.submit({.index = 2, .prompt = 999, .outputs = 1});
  CHECK(next_prompts(loop) == 0);
  loop.complete(loop.most_steps());
  CHECK(loop.num_running() == 1);
  CHECK(next_prompts(loop) == 999);
  loop.complete(1);
  loop.submit({.index = 3, .prompt = 1500, .outputs = 1});
  CHECK(next_prompts(loop) == 1000);
  loop.complete(1);
  CHECK(next_prompts(loop) == 500);
}

TEST_CASE("edge: of a prompt whose front was found the rest alone needs room in a step, and is waited for") {
  EngineLoop loop({.budget = 1000, .whole_prompts = true}, {});
  loop.submit({.index = 0, .prompt = 600, .outputs = 9});
  loop.submit({.index = 1, .prompt = 400, .found = 300, .outputs = 9});
  CHECK(loop.waiting_tokens() == 600 + 100);
  CHECK(next_prompts(loop) == 600 + 100);  // of 400 that were left
  CHECK(loop.num_running() == 2);
}

TEST_CASE("edge: of a prompt that is cut the tokens are waited for that no step has taken") {
  EngineLoop loop({.budget = 100}, {});
  loop.submit({.index = 0, .prompt = 300, .outputs = 2});
  CHECK(next_prompts(loop) == 100);
  loop.complete(1);
  CHECK(loop.num_running() == 1);
  CHECK(loop.waiting_tokens() == 200);
}

TEST_CASE("edge: beside one request no other is admitted where one may run, or where the smallest cache is full") {
  const LoopRules one_runs{.budget = 1000, .most_running = 1}, smallest_cache{.budget = 1000, .cache_tokens = 1};
  for (const LoopRules& rules : {one_runs, smallest_cache}) {
    EngineLoop loop(rules, {});
    for (std::int64_t index = 0; index < 2; ++index) loop.submit({.index = index, .prompt = 10, .outputs = 3});
    CHECK(next_prompts(loop) == 10);
    CHECK(loop.num_running() == 1);
    CHECK(loop.num_waiting() == 1);
  }
}

TEST_CASE("golden: a prompt waits for company while others generate, so many steps or until they are enough") {
  EngineLoop loop({.budget = 1000, .wait_steps = 5, .wait_share = 0.5}, {});
  loop.submit({.index = 0, .prompt = 100, .outputs = 90});
  CHECK(next_prompts(loop) == 100);  // nobody generates whom it would hold up
  loop.complete(1);
  loop.submit({.index = 1, .prompt = 200, .outputs = 90});
  CHECK(next_prompts(loop) == 0);
  CHECK(loop.most_steps() == 5);
  loop.complete(5);
  CHECK(next_prompts(loop) == 200);
  loop.complete(1);
  loop.submit({.index = 2, .prompt = 497, .outputs = 90});
  CHECK(next_prompts(loop) == 0);  // 497 and two that generate
  loop.complete(2);
  loop.submit({.index = 3, .prompt = 1, .outputs = 90});
  CHECK(next_prompts(loop) == 498);
  loop.complete(1);
  loop.submit({.index = 4, .prompt = 10, .outputs = 90});
  loop.next();
  CHECK(loop.most_steps() == 5);  // a wait of its own
}

TEST_CASE("golden: prompts wait until every rank has one, but no longer than the balance says") {
  EngineLoop loop({.budget = 1000, .ranks = 2, .balance_steps = 8}, {});
  for (std::int64_t index = 0; index < 2; ++index) loop.submit({.index = index, .prompt = 100, .outputs = 90});
  CHECK(next_prompts(loop) == 100);
  CHECK(loop.middle(1).elsewhere_rows == 100);
  loop.complete(1);
  loop.submit({.index = 2, .prompt = 300, .outputs = 90});
  CHECK(next_prompts(loop) == 0);
  CHECK(loop.most_steps() == 7);
  loop.complete(4);
  loop.submit({.index = 3, .prompt = 200, .outputs = 90});
  CHECK(next_prompts(loop) == 300);  // both have one
  loop.complete(1);
  loop.submit({.index = 4, .prompt = 50, .outputs = 90});
  loop.next();
  loop.complete(6);
  CHECK(next_prompts(loop) == 0);  // the seventh step of the wait
  loop.complete(1);
  CHECK(next_prompts(loop) == 50);  // the wait has run out
}

TEST_CASE("golden: a rank that does not generate holds nobody up") {
  EngineLoop loop({.budget = 1000, .ranks = 2, .balance_steps = 8}, {});
  loop.submit({.index = 0, .prompt = 100, .outputs = 90});
  CHECK(next_prompts(loop) == 100);
  loop.complete(1);
  loop.submit({.index = 1, .prompt = 300, .outputs = 90});
  CHECK(next_prompts(loop) == 300);
}
