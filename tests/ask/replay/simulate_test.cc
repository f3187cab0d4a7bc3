#include "ask/replay/simulate.h"

#include <doctest/doctest.h>

#include <variant>
#include <vector>

#include "ask/plan.h"
#include "ask/replay/planned_caches.h"
#include "base/error.h"
#include "simulator/blocks/closed_form.h"
#include "simulator/blocks/plan_geometry.h"
#include "simulator/schedule/simulation.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("law: the answer is what a simulation of the plan's cache finds by hand") {
  const Scenario scenario = small_scenario("  attention_pack_size: [1, 3]\n",
                                           "simulate: {trace: {max_requests: 60}, max_num_seqs: 4}\n");
  const std::vector<AnyCache> caches = planned_caches(scenario);
  REQUIRE(caches.size() == 2);
  const SimulateAnswer answer = simulate({scenario.simulate, caches});
  const PlanSet set = plan_scenario(scenario, scenario.pack_sizes);
  for (std::size_t i = 0; i < 2; ++i) {
    CacheGeometry geometry = geometry_of(set.plans[i], scenario.engine);
    geometry.scheduler.max_num_seqs = 4;
    geometry.name = i == 0 ? "N = 1" : "N = 3";
    CHECK(caches[i] == AnyCache(geometry));
    Simulation simulation(geometry, scenario.simulate.driver);
    const std::unique_ptr<TraceSource> trace = open_trace(scenario.simulate.trace);
    for (TraceBatch batch; trace->next(batch);) simulation.consume(batch);
    CHECK(answer.caches[i].blocks() == simulation.finish());
    CHECK(answer.caches[i].longest_request == longest_request(geometry));
  }
  CHECK(answer.caches.front().requests.empty());  // too many to list
}

TEST_CASE("law: each of several lengths is a cache of its own") {
  const Scenario scenario = small_scenario("", "  # no more\n");
  Scenario two = scenario;
  two.limits.max_model_lens = {4096, 1024};
  const std::vector<AnyCache> caches = planned_caches(two);
  REQUIRE(caches.size() == 2);
  CHECK(name_of(caches[0]) == "N = 1, L = 4,096");
  CHECK(name_of(caches[1]) == "N = 1, L = 1,024");
  CHECK(max_model_len_of(caches[1]) == 1024);
}

TEST_CASE("golden: caches without a plan are the product of modes, blocks and sizes") {
  const std::vector<AnyCache> caches = bare_caches({.block_sizes = {16, 32},
                                                         .num_blocks = {100},
                                                         .modes = {CacheMode::align, CacheMode::all},
                                                         .state_groups = 1,
                                                         .max_num_batched_tokens = 512},
                                                        SimulateRequest{.scheduler = {.watermark = 0.5}});
  REQUIRE(caches.size() == 4);
  CHECK(name_of(caches[1]) == "32 x 100 align");
  CHECK(name_of(caches[2]) == "16 x 100 all");
  for (const AnyCache& cache : caches) {
    CHECK(std::get<CacheGeometry>(cache).max_num_batched_tokens == 512);
    CHECK(std::get<CacheGeometry>(cache).scheduler.watermark == 0.5);
  }
  CHECK(name_of(bare_caches({.block_sizes = {16}, .num_blocks = {9}}, {}).front()) == "16 x 9 attention only");
}

TEST_CASE("golden: a short trace is listed with the checkpoints of cold prompts; a cache without hits says why") {
  SimulateQuestion question;
  question.request.trace.prompts = {{.tokens = 40, .copies = 2}};
  question.caches = bare_caches({.block_sizes = {16, 64}, .num_blocks = {100}, .state_groups = 1}, question.request);
  std::vector<std::int64_t> seen;
  bool started = false;
  const SimulateAnswer answer =
      simulate(question, {.on_start = [&] { started = true; },
                          .on_record =
                              [&](const RecordView& record, const ReuseLoss*) {
                                seen.push_back(std::get<const RequestRecord*>(record)->hit_tokens);
                              }});
  CHECK(started);
  CHECK(seen == std::vector<std::int64_t>{0, 32});
  REQUIRE(answer.caches.size() == 2);
  CHECK(answer.caches[0].requests.at(0).cold_checkpoints == std::vector<std::int64_t>{32});
  CHECK(answer.caches[0].requests.at(1).cold_checkpoints.empty());  // it found something
  CHECK_FALSE(answer.caches[0].longest_repeat.has_value());
  CHECK(answer.caches[1].longest_repeat == 39);  // never a prompt's own last token
  // A prompt of one token has nothing that could be found, which is said too.
  question.request.trace.prompts = {{.tokens = 1}};
  for (const ReplayedCache& cache : simulate(question).caches) CHECK(cache.longest_repeat == 0);
}

TEST_CASE("golden: of several caches the events are those of the first") {
  SimulateQuestion question;
  question.request.trace.prompts = {{.tokens = 40, .copies = 2}};
  question.caches = bare_caches({.block_sizes = {16, 64}, .num_blocks = {100}, .state_groups = 1}, question.request);
  std::vector<std::int64_t> found;
  simulate(question, {.on_event = [&](const RecordedEvent& event) {
             if (const auto* hit = std::get_if<HitEvent>(&event)) found.push_back(hit->tokens);
           }});
  // Of the copy two blocks of 16 tokens; a block of 64 is longer than the prompt.
  CHECK(found == std::vector<std::int64_t>{0, 32});
}

TEST_CASE("regression: a plan of more than 4,096 groups is replayed") {
  // States of 40 layers in pages of a block of 4-bit K and V: 4,620 pieces.
  const Scenario scenario = read_scenario(parse_scenario(
      "model: Nemotron-3-Super-120B-A12B\n"
      "engine: {strategy: small_pages, kv_dtype: nvfp4, cache_mode: align, memory: 100 GiB}\n"
      "limits: {max_model_len: 65536}\nsimulate: {trace: {prompts: [{tokens: 3000, copies: 2}]}}\n", "many.yaml"));
  const std::vector<AnyCache> caches = planned_caches(scenario);
  REQUIRE(caches.size() == 1);
  CHECK(std::get<CacheGeometry>(caches.front()).state_groups > 4096);
  CHECK(simulate({scenario.simulate, caches}).requests == 2);
}

TEST_CASE("fault: a cache that cannot be is refused before anything starts") {
  SimulateQuestion question;
  question.caches = bare_caches({.block_sizes = {16}, .num_blocks = {1}}, question.request);
  bool started = false;
  CHECK_THROWS_AS(simulate(question, {.on_start = [&] { started = true; }}),
                  SpecError);
  CHECK_FALSE(started);
}
