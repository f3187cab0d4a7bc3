// Who is admitted, who gives way, and what is computed again.
#include "clock/engine_loop.h"

#include <doctest/doctest.h>

using namespace hybridkv;

TEST_CASE("golden: the request admitted last gives way, waits a step, and computes again what it had") {
  EngineLoop loop({.budget = 1000, .cache_tokens = 203}, {});
  loop.submit({.index = 0, .prompt = 100, .outputs = 50});
  loop.submit({.index = 1, .prompt = 100, .outputs = 50});
  CHECK(loop.next().prompt_tokens == 200);
  loop.complete(1);
  CHECK(loop.next().prompt_tokens == 0);  // 202 tokens: not both can take a step
  CHECK(loop.num_running() == 1);
  CHECK(loop.num_waiting() == 1);
  loop.complete(1);
  CHECK(loop.next().prompt_tokens == 101);
  CHECK(loop.num_running() == 2);
}

TEST_CASE("golden: a request that reserves its output is admitted when another has ended") {
  EngineLoop loop({.budget = 1000, .cache_tokens = 203, .reserves_outputs = true}, {});
  std::int64_t ended = -1;
  loop.on_end = [&](std::int64_t index) { ended = index; };
  loop.submit({.index = 7, .prompt = 100, .outputs = 3});
  loop.submit({.index = 8, .prompt = 100, .outputs = 3});
  CHECK(loop.next().prompt_tokens == 100);
  loop.complete(1);
  loop.next();
  CHECK(loop.most_steps() == 2);
  loop.complete(2);
  CHECK(ended == 7);
  CHECK(loop.next().prompt_tokens == 100);
}

TEST_CASE("edge: what was found is read, not computed") {
  EngineLoop loop({.budget = 1000}, {});
  loop.submit({.index = 0, .prompt = 900, .found = 800, .outputs = 1});
  const StepBatch batch = loop.next();
  CHECK(batch.prompt_tokens == 100);
  CHECK(batch.prompt_context == 900);
  CHECK(batch.prompt_pairs == 100 * (800 + 50));
}
