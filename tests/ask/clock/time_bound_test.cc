// The least mean first token of a trace, beside replays with every policy.
#include "ask/clock/time_bound.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate.h"
#include "base/error.h"
#include "scenarios/read.h"
#include "tests/contains.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

Scenario scenario_of(const std::string& policy, int seed, const std::string& release, const std::string& trace) {
  return read_scenario(parse_scenario(
      "model: Qwen3.5-4B\nengine: {release: " + release + ", memory: 3GiB}\nlimits: {max_model_len: 32768}\n"
      "simulate: {" + policy + "trace: {max_requests: 60, synthetic: {seed: " + std::to_string(seed) + trace + "}}}\n",
      "bound.yaml"));
}

double replayed(const Scenario& scenario, const TimedQuestion& question) {
  Scenario timed = scenario;
  const std::vector<AnyCache> caches = planned_caches(timed);
  const TimedAnswer answer = set_clock(timed, caches.front(), question);
  return simulate({timed.simulate, caches, answer}).caches.front().times->first_token.mean();
}

}  // namespace

TEST_CASE("law: no replay is below the least mean first token, whatever it evicts, how fast requests come, and where") {
  for (const char* release : {"vllm-0.33", "sglang-0.5.23"})
    for (int seed = 1; seed <= 3; ++seed)
      for (const double rate : {0.2, 3.0, 50.0}) {
        CAPTURE(release);
        CAPTURE(seed);
        CAPTURE(rate);
        const TimedQuestion question{.served = {.gpu = "H200"}, .rate = rate};
        const TimeBound bound = time_bound(scenario_of("", seed, release, ""), question);
        CHECK(bound.requests == 60);
        CHECK(bound.least() > 0);
        CHECK(bound.least() <= bound.replayed);
        if (std::string(release) != "vllm-0.33") continue;
        for (const char* policy : {"eviction: prefixes, ", "eviction: frequency, ", "eviction: second_chance, "})
          CHECK(bound.least() <= replayed(scenario_of(policy, seed, release, ""), question));
      }
}

TEST_CASE("golden: requests that come at once wait for each other in any order") {
  const TimedQuestion slow{.served = {.gpu = "H200"}, .rate = 0.1}, fast{.served = {.gpu = "H200"}, .rate = 1000};
  const Scenario scenario = read_scenario(parse_scenario(
      "model: Qwen3.5-4B\nengine: {memory: 20GiB}\nlimits: {max_model_len: 32768}\n"
      "simulate: {trace: {prompts: [{tokens: 8000, variants: 40, output_tokens: 4}]}}\n", "bound.yaml"));
  const TimeBound bound = time_bound(scenario, fast);
  CHECK(bound.in_best_order > 3 * bound.alone);
  CHECK(bound.in_best_order == bound.least());
  CHECK(bound.least() <= bound.replayed);
  CHECK(bound.replayed < 3 * bound.least());
  CHECK(time_bound(scenario, slow).alone == doctest::Approx(bound.alone));
}

TEST_CASE("edge: who waits for another request may find what later ones of the trace began with") {
  // Behind a long answer come eight prompts that others begin with meanwhile.
  const auto bound_where = [](bool eight_wait) {
    std::string lines = R"({"schema": "invented", "version": 2, "block_size": 512, "hash_id_scope": "global"})" "\n";
    const auto add = [&](const std::string& name, int outputs, int first_id, int starts, const std::string& waits_for) {
      std::string ids = std::to_string(first_id);
      for (int id = first_id + 1; id < first_id + 16; ++id) ids += ", " + std::to_string(id);
      lines += fmt::format(R"({{"request_id": "{}", "session_id": "s", "model": "m", "input_length": {}, )"
                           R"("output_length": {}, "hash_ids": [{}], "not_before_ms": {}, "dependencies": [{}]}})" "\n",
                           name, 16 * 512, outputs, ids, starts, waits_for);
    };
    add("long", 2000, 1, 0, "");
    for (int i = 1; i <= 8; ++i) {
      const std::string long_one = R"({"request_id": "long", "trigger": "completion", "delay_ms": 0})";
      add(fmt::format("waits {}", i), 4, 100 * i, 0, eight_wait ? long_one : "");
      add(fmt::format("before {}", i), 4, 100 * i, 500 * i, "");
    }
    const ScratchFolder scratch;
    return time_bound(read_scenario(parse_scenario(
        "model: Qwen3.5-4B\nengine: {memory: 20GiB}\nlimits: {max_model_len: 32768}\nsimulate: {trace: {file: " +
            scratch.file("trace.jsonl", lines) + "}}\n", "bound.yaml")), {.served = {.gpu = "H200"}});
  };
  const TimeBound waiting = bound_where(true), in_order = bound_where(false);
  CHECK(waiting.requests == 17);
  CHECK(waiting.least() <= waiting.replayed);
  CHECK(in_order.least() <= in_order.replayed);
  // Of each pair either may be the first.
  CHECK(waiting.alone < 0.6 * in_order.alone);
  CHECK(waiting.in_best_order == 0);
  CHECK(in_order.in_best_order > 0);
}

TEST_CASE("edge: a mean of other requests is no bound, and a closed loop has none") {
  const TimedQuestion question{.served = {.gpu = "H200"}};
  const auto refusal = [&](const Scenario& scenario) {
    try {
      time_bound(scenario, question);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(contains(refusal(scenario_of("driver: closed_loop, in_flight: 4, ", 1, "vllm-0.33", "")),
                 "leave --driver out"));
}

TEST_CASE("law: times are the same whether what would be without caching is asked for or not") {
  Scenario timed = scenario_of("", 1, "vllm-0.33", "");
  const std::vector<AnyCache> caches = planned_caches(timed);
  const TimedAnswer clock = set_clock(timed, caches.front(), {.served = {.gpu = "H200"}});
  const SimulateAnswer both = simulate({timed.simulate, caches, clock});
  const SimulateAnswer alone = simulate({timed.simulate, caches, clock, false});
  CHECK(both.caches.front().uncached.has_value());
  CHECK_FALSE(alone.caches.front().uncached.has_value());
  CHECK(*alone.caches.front().times == *both.caches.front().times);
}
