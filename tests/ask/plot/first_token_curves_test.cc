// First tokens over memory: what a replay by the clock says under each.
#include "ask/plot/first_token_curves.h"

#include <doctest/doctest.h>

#include "ask/plot/replay_curves.h"
#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate.h"
#include "base/error.h"

using namespace hybridkv;

namespace {

std::vector<CompareSetting> clocked_settings(const std::string& memory, const std::string& gpu = "H200",
                                             int requests = 300) {
  return compare_settings({parse_scenario(
      "model: Qwen3.5-4B\nengine: {release: [vllm-0.33, jenga], memory: " + memory +
          "}\nlimits: {max_model_len: 16k}\nsimulate:\n  clock: {gpu: " + gpu +
          "}\n  trace: {max_requests: " + std::to_string(requests) + ", synthetic: {seed: 3}}\n",
      "test")});
}

}  // namespace

TEST_CASE("law: a first token takes what a replay under that memory says, and no longer where more is found") {
  const std::vector<CompareSetting> settings = clocked_settings("20 GiB");
  const FirstTokens curves = first_token_curves(settings);
  REQUIRE(curves.of.size() == 2);
  CHECK(curves.names[0] != curves.names[1]);
  CHECK(curves.memory_bytes == memories_around(std::int64_t{20} << 30));
  REQUIRE(curves.clocks.size() == 1);
  CHECK(curves.clocks[0].find("median error") != std::string::npos);
  Scenario scenario = settings[0].scenario;
  const AnyCache cache = planned_caches(scenario).front();
  const auto timed = set_clock(scenario, cache);
  const SimulateAnswer alone = simulate({scenario.simulate, {cache}, timed});
  CHECK(curves.of[0][whole_memory].seconds == alone.caches[0].times->first_token.mean());
  CHECK(curves.of[0].back().seconds.value() <= curves.of[0][whole_memory].seconds.value());
  // Nobody measured the other engine.
  for (const FirstToken& one : curves.of[1]) CHECK(one == FirstToken{});
}

TEST_CASE("edge: too little memory is a gap, a GPU that nobody knows is refused") {
  const FirstTokens curves = first_token_curves(clocked_settings("900 MiB"));
  CHECK(curves.of[0].front() == FirstToken{});
  CHECK(curves.of[0].back().seconds.has_value());
  CHECK_THROWS_AS(first_token_curves(clocked_settings("20 GiB", "H2000")), InputError);
}

TEST_CASE("golden: where more requests come than are served the queue grows, and no mean is said") {
  std::vector<CompareSetting> settings = clocked_settings("20 GiB", "H200", 2000);
  for (CompareSetting& setting : settings) setting.scenario.simulate.clock.rate = 10;
  const FirstTokens curves = first_token_curves(settings);
  for (const FirstToken& one : curves.of[0]) CHECK((one.overloaded || one == FirstToken{}));
  CHECK(curves.of[0].back().overloaded);
}

TEST_CASE("edge: where every prompt is longer than the engine takes nothing is served, and no mean is said") {
  std::vector<CompareSetting> settings = clocked_settings("20 GiB", "H200", 20);
  // Every made-up prompt stands behind a system prompt of at least 16 tokens.
  for (CompareSetting& setting : settings) setting.scenario.limits.max_model_lens = {16};
  const FirstTokens curves = first_token_curves(settings);
  REQUIRE(curves.of.size() == 2);
  CHECK(curves.clocks.size() == 1);
  for (const FirstToken& one : curves.of[0]) CHECK(one == FirstToken{});
}
