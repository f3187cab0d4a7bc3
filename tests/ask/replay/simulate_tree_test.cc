// Replays through a dual pool with a radix tree, and through the slots of a server.
#include "ask/replay/simulate.h"

#include <doctest/doctest.h>

#include "ask/replay/planned_caches.h"
#include "base/error.h"
#include "engines/sglang/rules.h"
#include "planner/engine_rules.h"
#include "planner/plan.h"
#include "simulator/slots/slot_replay.h"
#include "simulator/trace/trace_spec.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

SimulateRequest prompts(std::vector<PromptSpec> list) {
  SimulateRequest request;
  request.trace.prompts = std::move(list);
  return request;
}

TreeCache cache_of(std::int64_t tokens, std::int64_t states) {
  return {.rules = &rules_of_sglang_0_5_23, .name = "a",
          .settings = {.token_slots = tokens, .state_slots = states}, .max_model_len = 5000};
}

}  // namespace

TEST_CASE("golden: copies hit from the grid below their end, a prompt that ends on the grid one copy later") {
  const SimulateAnswer answer = simulate(
      {prompts({{.tokens = 1000, .copies = 3}, {.tokens = 1024, .copies = 3}}), {cache_of(100'000, 50)}});
  REQUIRE(answer.caches.size() == 1);
  const ReplayedCache& cache = answer.caches.front();
  std::vector<std::int64_t> hits;
  for (const ListedRequest& listed : cache.requests) hits.push_back(std::get<TreeRecord>(listed.record).hit_tokens);
  CHECK(hits == std::vector<std::int64_t>{0, 960, 960, 0, 0, 960});
  CHECK(cache.counts().hit_tokens == 3 * 960);
  CHECK(answer.requests == 6);
  CHECK(answer.prompt_tokens == 3 * 2024);
  CHECK_FALSE(cache.token_exact_hit_tokens.has_value());
}

TEST_CASE("law: the answer is what a replay finds by hand, cache by cache, with the bound token by token") {
  SimulateRequest request;
  request.trace.max_requests = 300;
  request.upper_bounds = true;
  TreeCache small = cache_of(30'000, 12), large = cache_of(3'000'000, 500);
  large.max_model_len = std::nullopt;
  std::vector<TreeRecord> seen;
  std::int64_t started = 0, reported = 0;
  const SimulateAnswer answer = simulate(
      {request, {small, large}},
      {.on_start = [&] { ++started; },
       .on_record = [&](const RecordView& record,
                        const ReuseLoss*) { seen.push_back(*std::get<const TreeRecord*>(record)); },
       .on_progress = [&](const SweepProgress& at) { reported = at.requests; }});
  CHECK(started == 1);
  CHECK(reported == 300);
  CHECK(answer.caches[0].requests.empty());
  CHECK(seen.size() == 300);
  const std::unique_ptr<TraceSource> trace = open_trace(request.trace);
  TreeReplay by_hand(large.settings);
  TreeStats stats;
  stats.settings = large.settings;
  for (TraceBatch batch; trace->next(batch);)
    for (const TraceRequest& one : batch.requests) stats.add(by_hand.run(one, batch.prompt(one)));
  CHECK(answer.caches[1].index == IndexStats(stats));
  CHECK(answer.caches[0].max_model_len == 5000);
  CHECK(answer.caches[0].counts().too_long > 0);
  CHECK(answer.caches[0].counts().hit_tokens < stats.hit_tokens);
  CHECK(answer.caches[1].token_exact_hit_tokens > stats.hit_tokens);
}

TEST_CASE("law: requests in flight decode, a tree is not replayed by timestamps") {
  SimulateRequest request = prompts({{.tokens = 1000, .output_tokens = 300}});
  request.driver.kind = DriverKind::closed_loop;
  request.driver.in_flight = 1;
  const SimulateAnswer answer = simulate({request, {cache_of(100'000, 50)}});
  const auto& stats = std::get<TreeStats>(answer.caches.front().index);
  CHECK(stats.settings.decodes);
  CHECK(stats.generated_tokens == 300);
  bool started = false;
  const auto refuses = [&] {
    CHECK_THROWS_AS(simulate({request, {cache_of(100'000, 50)}}, {.on_start = [&] { started = true; }}), SpecError);
    CHECK_FALSE(started);
  };
  request.driver.in_flight = 2;
  CHECK(std::get<TreeStats>(simulate({request, {cache_of(100'000, 50)}}).caches.front().index).generated_tokens == 300);
  request.driver.kind = DriverKind::open_loop;
  refuses();
}

TEST_CASE("law: slots answer what their replay finds by hand, one prompt at a time") {
  const Scenario scenario = read_scenario(parse_scenario(
      "model: Qwen3.5-4B\nengine: {release: llama.cpp, memory: 4 GiB}\nlimits: {max_model_len: 32768}\n"
      "simulate: {upper_bounds: true, trace: {max_requests: 300}}\n", "slots.yaml"));
  const std::vector<AnyCache> caches = planned_caches(scenario);
  std::vector<SlotRecord> seen;
  const SimulateAnswer answer =
      simulate({scenario.simulate, caches}, {.on_record = [&](const RecordView& record, const ReuseLoss*) {
                 seen.push_back(*std::get<const SlotRecord*>(record));
               }});
  CHECK(seen.size() == 300);
  const auto& cache = std::get<SlotCache>(caches.front());
  CHECK(cache.settings == slot_settings_of(make_plan(scenario.model, scenario.engine, scenario.limits)));
  SlotReplay by_hand(cache.settings);
  SlotStats stats;
  stats.settings = cache.settings;
  const std::unique_ptr<TraceSource> trace = open_trace(scenario.simulate.trace);
  for (TraceBatch batch; trace->next(batch);)
    for (const TraceRequest& one : batch.requests)
      stats.add(refused_for_length(one.input_length, 32'768)
                    ? SlotRecord{.index = one.index, .input_length = one.input_length,
                                 .status = RequestStatus::too_long}
                    : by_hand.run(one, batch.prompt(one)));
  CHECK(answer.caches.front().index == IndexStats(stats));
  CHECK(0 < stats.hit_tokens);
  CHECK(stats.hit_tokens <= stats.kv_match_tokens);
  CHECK(stats.kv_match_tokens <= answer.caches.front().token_exact_hit_tokens);
  SimulateRequest closed = scenario.simulate;
  closed.driver.kind = DriverKind::closed_loop;
  CHECK_THROWS_WITH_AS(simulate({closed, caches}), doctest::Contains("slots are replayed one prompt at a time"),
                       SpecError);
}
