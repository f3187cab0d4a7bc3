#include "ask/simulate_radix.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

SimulateRequest prompts(std::vector<PromptSpec> list) {
  SimulateRequest request;
  request.trace.prompts = std::move(list);
  return request;
}

RadixCache cache_of(std::int64_t tokens, std::int64_t states) {
  return {.name = "a", .settings = {.token_slots = tokens, .state_slots = states}, .max_model_len = 5000};
}

}  // namespace

TEST_CASE("golden: copies hit from the grid below their end, a prompt that ends on the grid one copy later") {
  const RadixAnswer answer = simulate_radix(prompts({{.tokens = 1000, .copies = 3}, {.tokens = 1024, .copies = 3}}),
                                            {cache_of(100'000, 50)});
  REQUIRE(answer.listed.size() == 1);
  std::vector<std::int64_t> hits;
  for (const RadixRecord& record : answer.listed.front()) hits.push_back(record.hit_tokens);
  CHECK(hits == std::vector<std::int64_t>{0, 960, 960, 0, 0, 960});
  CHECK(answer.stats.front().hit_tokens == 3 * 960);
  CHECK(answer.requests == 6);
  CHECK(answer.prompt_tokens == 3 * 2024);
  CHECK(answer.token_exact_hit_tokens.empty());
}

TEST_CASE("law: the answer is what a replay finds by hand, cache by cache, with the bound token by token") {
  SimulateRequest request;
  request.trace.max_requests = 300;
  request.upper_bounds = true;
  RadixCache small = cache_of(30'000, 12), large = cache_of(3'000'000, 500);
  large.max_model_len = std::nullopt;
  std::vector<RadixRecord> seen;
  std::int64_t started = 0, reported = 0;
  const RadixAnswer answer = simulate_radix(
      request, {small, large},
      {.on_start = [&] { ++started; },
       .on_record = [&](const RadixRecord& record) { seen.push_back(record); },
       .on_progress = [&](const SweepProgress& at) { reported = at.requests; }});
  CHECK(started == 1);
  CHECK(reported == 300);
  CHECK(answer.listed.empty());
  CHECK(seen.size() == 300);
  const std::unique_ptr<TraceSource> trace = open_trace(request.trace);
  RadixReplay by_hand(large.settings);
  RadixStats stats{.name = "a", .settings = large.settings};
  for (TraceBatch batch; trace->next(batch);)
    for (const TraceRequest& one : batch.requests) stats.add(by_hand.run(one, batch.prompt(one)));
  CHECK(answer.stats[1] == stats);
  CHECK(answer.stats[0].max_model_len == 5000);
  CHECK(answer.stats[0].too_long > 0);
  CHECK(answer.stats[0].hit_tokens < answer.stats[1].hit_tokens);
  CHECK(answer.token_exact_hit_tokens[1] > answer.stats[1].hit_tokens);
}

TEST_CASE("law: one in flight decodes, other drivers are refused") {
  SimulateRequest request = prompts({{.tokens = 1000, .output_tokens = 300}});
  request.driver.kind = DriverKind::closed_loop;
  request.driver.in_flight = 1;
  const RadixAnswer answer = simulate_radix(request, {cache_of(100'000, 50)});
  CHECK(answer.decodes);
  CHECK(answer.stats.front().generated_tokens == 300);
  request.driver.in_flight = 2;
  CHECK_THROWS_AS(simulate_radix(request, {cache_of(100'000, 50)}), SpecError);
  request.driver.kind = DriverKind::open_loop;
  CHECK_THROWS_AS(simulate_radix(request, {cache_of(100'000, 50)}), SpecError);
}
