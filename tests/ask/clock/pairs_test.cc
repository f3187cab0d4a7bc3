// Published pairs without and with cache hits on hybrids (tests/data/clock/pairs.csv): order and ratio.
#include <doctest/doctest.h>

#include "ask/clock/timed_replay.h"
#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate.h"
#include "engines/gpus.h"
#include "scenarios/read.h"

using namespace hybridkv;

namespace {

SimulateAnswer replayed(const std::string& text, const std::string& gpu) {
  Scenario scenario = read_scenario(parse_scenario(text, "pair.yaml"));
  const std::vector<AnyCache> caches = planned_caches(scenario);
  scenario.simulate.clock.served.gpu = gpu;
  const std::optional<TimedAnswer> timed = set_clock(scenario, caches.front());
  return simulate({scenario.simulate, caches, timed});
}

/// 300 requests with one prefix of 2,000 tokens, ten at once, as PR 35703 was measured.
double first_token_of_pack(std::int64_t pack) {
  const SimulateAnswer answer = replayed(
      "model: Qwen3.6-35B-A3B\n"
      "engine: {release: vllm-2026-06, cache_mode: align, memory: 8GiB, attention_pack_size: " + std::to_string(pack) +
      "}\nlimits: {max_model_len: 8192}\n"
      "simulate: {driver: closed_loop, in_flight: 10, trace: {prompts: [{tokens: 2000, copies: 300, "
      "output_tokens: 100}]}}\n", "H100");
  return answer.caches.front().times->first_token.mean();
}

}  // namespace

TEST_CASE("golden: pair 1, packs of four give the first token in less than half of the time") {
  const double ratio = first_token_of_pack(1) / first_token_of_pack(4);
  // The author measured 2.42 and, disturbed, 2.82.
  CHECK(ratio > 2.42 * 0.75);
  CHECK(ratio < 2.82 * 1.25);
}

TEST_CASE("golden: pair 2a, prompts shorter than a block gain nothing by caching") {
  const SimulateAnswer answer = replayed(
      "model: Qwen3.8-27B\n"
      "engine: {release: vllm-0.33, memory: 8GiB}\nlimits: {max_model_len: 4096}\n"
      "simulate: {driver: closed_loop, in_flight: 128, trace: {prompts: [{tokens: 371, copies: 500, "
      "output_tokens: 10}]}}\n", "L40S");
  const ReplayedCache& cache = answer.caches.front();
  CHECK(cache.counts().hit_tokens == 0);
  CHECK(cache.uncached->span_seconds() / cache.times->span_seconds() == doctest::Approx(1.01).epsilon(0.05));
}

TEST_CASE("golden: pair 10, one step of 8,000 tokens is faster than one of 7,680 and one of 320") {
  const Scenario scenario = read_scenario(parse_scenario(
      "model: Kimi-K3\nengine: {tensor_parallel: 8, memory: 40GiB}\nlimits: {max_model_len: 16384}\n", "pair.yaml"));
  const ServedClock served = served_clock(scenario, {.gpu = "B300"});
  const auto step = [&](double tokens, double before) {
    StepBatch batch;
    add_prompt(batch, tokens, before, served.clock->windows());
    return served.clock->seconds(batch);
  };
  const double first = served.clock->first_token_seconds();
  const double ratio = (step(7680, 0) + step(320, 7680) + first) / (step(8000, 0) + first);
  // Reported: 9 to 25 % less.
  CHECK(ratio > 1.10 * 0.9);
  CHECK(ratio < 1.33 * 1.25);
}
