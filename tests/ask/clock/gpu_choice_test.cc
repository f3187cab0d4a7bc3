// Choosing GPUs by the clock: what is taken, and what it is made of.
#include "ask/clock/gpu_choice.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate.h"
#include "base/error.h"
#include "scenarios/read.h"
#include "tests/contains.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

GpuChoiceQuestion question_at(double rate, std::vector<std::int64_t> gpus, const std::string& simulate = "",
                              const std::string& lengths = "32768") {
  GpuChoiceQuestion question{.timed = {.served = {.gpu = "H200"}, .limits = {.output_token = 0.02}, .rate = rate},
                         .gpus = std::move(gpus),
                         .ranks = {1},
                         .scenario_on = {}};
  question.scenario_on = [simulate, lengths](std::int64_t ranks) {
    Scenario scenario = read_scenario(parse_scenario(
        "model: Qwen3.5-4B\nengine: {release: vllm-0.33, memory: 20GiB, tensor_parallel: " + std::to_string(ranks) +
            "}\nlimits: {max_model_len: " + lengths + "}\nsimulate: {" + simulate + "trace: {max_requests: 150}}\n",
        "choice.yaml"));
    return RankedScenario{.scenario = scenario, .settings = {}, .words = {.scenario = "choice.yaml", .overrides = {},
                                                                          .values = {}, .replay = {}}};
  };
  return question;
}

const std::vector<std::int64_t> to_sixteen{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

}  // namespace

TEST_CASE("golden: of those that hold the fewest are taken, and one fewer was tried and does not") {
  const GpuChoice answer = choose_gpus(question_at(20, to_sixteen));
  REQUIRE(answer.pick);
  const Deployment& pick = answer.tried[*answer.pick];
  CHECK(pick.holds);
  REQUIRE(pick.replicas > 1);
  CHECK(std::any_of(answer.tried.begin(), answer.tried.end(), [&](const Deployment& one) {
    return one.replicas + 1 == pick.replicas && !one.holds;
  }));
  CHECK(answer.most_rate.value() >= pick.rate);
  // At twice the rate each would have what half as many have now, and one fewer has too much already.
  CHECK(answer.most_rate.value() < 2 * pick.rate);
  CHECK(answer.share_if_slower <= good_share(pick.cached));
  const GpuChoice twice = choose_gpus(question_at(40, to_sixteen));
  CHECK((!twice.pick || twice.tried[*twice.pick].replicas > pick.replicas));
}

TEST_CASE("law: a replica's times are those of the whole trace as many times as slowly") {
  const GpuChoiceQuestion question = question_at(20, {4});
  GpuChoiceQuestion both = question;
  both.gpus = {4, 8};
  const GpuChoice answer = choose_gpus(both);
  for (const Deployment& one : answer.tried) {
    Scenario scenario = scenario_of(question.scenario_on(1).scenario, answer.search_of(one).answer, one.candidate);
    const std::vector<AnyCache> caches = planned_caches(scenario);
    const TimedAnswer timed = set_clock(scenario, caches.front(),
                                        {.served = {.gpu = "H200"},
                                         .limits = question.timed.limits,
                                         .rate = 20 / static_cast<double>(one.replicas)});
    CHECK(*simulate({scenario.simulate, caches, timed}).caches.front().times == one.cached);
  }
}

TEST_CASE("law: of several lengths GPUs are chosen for the longest, as if it stood alone") {
  const GpuChoice alone = choose_gpus(question_at(20, {4, 8}));
  const GpuChoice several = choose_gpus(question_at(20, {4, 8}, "", "[256, 32768]"));
  REQUIRE(several.tried.size() == alone.tried.size());
  // A cache for requests of 256 tokens would refuse most of them.
  for (std::size_t i = 0; i < alone.tried.size(); ++i) CHECK(several.tried[i].cached == alone.tried[i].cached);
}

TEST_CASE("golden: of one number the rate is the highest of its digits that holds") {
  const GpuChoice answer = choose_gpus(question_at(1, {2}));
  REQUIRE(answer.pick);
  CHECK(answer.asks_most_load());
  CHECK_FALSE(answer.most_rate);
  const double rate = answer.tried[*answer.pick].rate;
  CHECK(rate > 1);
  const GpuChoice beyond = choose_gpus(question_at(1.11 * rate, {2, 1024}));
  CHECK_FALSE(beyond.tried.front().holds);
}

TEST_CASE("edge: of one number of GPUs that holds at no rate the times are those at the rate that was asked about") {
  GpuChoiceQuestion question = question_at(1, {2});
  question.timed.limits.output_token = 1e-9;  // no step is as short
  const GpuChoice answer = choose_gpus(question);
  CHECK_FALSE(answer.pick);
  REQUIRE(answer.tried.size() == 1);
  CHECK(answer.tried.front().rate == 1);
}

TEST_CASE("edge: without limits, and for a closed loop, no GPUs are chosen") {
  const auto refusal = [](const GpuChoiceQuestion& question) {
    try {
      choose_gpus(question);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  GpuChoiceQuestion unlimited = question_at(1, {1, 2});
  unlimited.timed.limits = {};
  CHECK(contains(refusal(unlimited), "--ttft 1s or --tpot 40ms"));
  CHECK(contains(refusal(question_at(1, {1, 2}, "driver: closed_loop, ")), "leave --driver out"));
  GpuChoiceQuestion wide = question_at(1, {3});
  wide.ranks = {2};
  CHECK(contains(refusal(wide), "multiple of the 2 ranks"));
}
