#include "ask/replay/bound.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "ask/replay/replay_settings.h"
#include "base/error.h"
#include "tests/ask/asked.h"

using namespace hybridkv;

namespace {

std::vector<CompareSetting> settings_of(const std::string& engine, const std::string& trace) {
  const ScenarioFile file = parse_scenario("model: Qwen3.5-4B\nengine: {cache_mode: align, " + engine +
                                               "}\nlimits: {max_model_len: 16k}\nsimulate: {trace: {" + trace + "}}\n",
                                           "asked.yaml");
  return compare_settings({file}, {"engine.release"}, 1);
}

/// Twelve prompts, one after the other, again and again: the oldest is always the next.
std::string round_and_round(int rounds) {
  std::string prompts;
  for (int round = 0; round < rounds; ++round)
    for (int prompt = 0; prompt < 12; ++prompt)
      prompts += (prompts.empty() ? "" : ", ") +
                 (round == 0
                      ? std::string("{tokens: 6000}")
                      : "{tokens: 6000, shared_tokens: 6000, shared_with: " + std::to_string(prompt + 1) + "}");
  return "prompts: [" + prompts + "]";
}

}  // namespace

TEST_CASE("law: found, possible, at most, endless, token by token: in this order, in every engine and memory") {
  for (const char* const memory : {"2 GiB", "6 GiB", "40 GiB"}) {
    const auto settings = settings_of(
        "release: [vllm-2026-06, vllm-0.33, sglang-0.5.23], memory: " + std::string(memory), "max_requests: 400");
    for (const BoundAnswer& one : bounds(settings)) {
      CAPTURE(memory);
      CAPTURE(one.name);
      CHECK(one.refused.empty());
      CHECK(one.found_tokens <= one.layout.upper_tokens);
      CHECK(one.layout.feasible_tokens <= one.layout.upper_tokens);
      CHECK(one.layout.upper_tokens <= one.layout.endless_tokens);
      CHECK(one.layout.endless_tokens <= one.token_exact_tokens);
      CHECK(one.token_exact_tokens < one.layout.prompt_tokens);
    }
  }
}

TEST_CASE("rule: the sizes of a bound are those of the layout") {
  const BoundAnswer blocks = bounds(settings_of("memory: 6 GiB, attention_pack_size: 1", "max_requests: 50")).front();
  // Eight attention layers in groups of eight pages, 24 recurrent ones in three more: an id of each for a state.
  CHECK(blocks.layout.unit_tokens > 1);
  CHECK(blocks.layout.state_bytes == 3 * blocks.layout.unit_bytes);
  CHECK(blocks.layout.memory_bytes % blocks.layout.unit_bytes == 0);
  const BoundAnswer tree = bounds(settings_of("memory: 6 GiB, release: sglang-0.5.23", "max_requests: 50")).front();
  CHECK(tree.layout.unit_tokens == 64);
  CHECK(tree.layout.unit_bytes == 64 * 32'768);  // 8 layers of 4 heads, K and V of 256, bf16
}

TEST_CASE("golden: what thrashes a pool that evicts the oldest can be kept by who knows the trace") {
  // More than the pool holds.
  const BoundAnswer answer = bounds(settings_of("memory: 1 GiB, release: vllm-2026-06", round_and_round(6))).front();
  CHECK(answer.found_tokens == 0);
  CHECK(answer.layout.feasible_tokens > answer.layout.prompt_tokens / 5);
  CHECK(answer.layout.upper_tokens < answer.layout.endless_tokens);
}

TEST_CASE("law: the schedule finds in the layout's own ids what it says by bytes, where one arena has them all") {
  const auto settings = settings_of("attention_pack_size: [1, 2, 3], memory: 2 GiB", "max_requests: 400");
  for (const BoundAnswer& one : bounds(settings)) {
    CAPTURE(one.name);
    CHECK(one.layout.is_replayed);
    CHECK(one.layout.scheduled_tokens > one.found_tokens);
    CHECK(one.layout.feasible_tokens == one.layout.scheduled_tokens);
  }
}

TEST_CASE("rule: a replay that finds prefixes at finer steps is bounded at those steps") {
  auto settings = settings_of("memory: 2 GiB", "max_requests: 100");
  const std::int64_t plain = layout_bound(settings.front().scenario).unit_tokens;
  settings.front().scenario.simulate.match_unit_tokens = 16;
  CHECK(plain % 16 == 0);
  CHECK(layout_bound(settings.front().scenario).unit_tokens == 16);
}

TEST_CASE("regression: a unit is where hits of the replay end: June's rules leave windows out of what is found again") {
  // Blocks of windows are 32 tokens long, those of full attention 16: both engines hit at multiples of their own.
  const ScenarioFile file = parse_scenario(
      "model: Gemma-4-31B\n"
      "engine: {release: [vllm-2026-06, vllm-0.33], memory: 160 GiB, tensor_parallel: 16,\n"
      "         attention_pack_size: [1, 2]}\n"
      "limits: {max_model_len: 64k}\n"
      "simulate: {trace: {prompts: [{tokens: 1010, copies: 20}]}}\n",
      "asked.yaml");
  const auto answers = bounds(compare_settings({file}, {"engine.release", "engine.attention_pack_size"}, 1));
  REQUIRE(answers.size() == 4);
  for (const BoundAnswer& one : answers) {
    CAPTURE(one.name);
    const bool june = one.name.find("2026-06") != std::string::npos;
    CHECK(one.layout.unit_tokens == (june ? 16 : 32));
    // A copy finds all whole units before its last token.
    CHECK(one.found_tokens == 19 * (june ? 1008 : 992));
    CHECK(one.layout.feasible_tokens == one.found_tokens);
    CHECK(one.layout.upper_tokens == one.found_tokens);
  }
}

TEST_CASE("regression: hits of a tree end where a grid that starts with a chunk has its states") {
  // Chunks of 1000 tokens: states at 960, 1960, …, which are no multiples of the grid of 64.
  auto settings = settings_of("memory: 6 GiB, release: sglang-0.5.23, max_num_batched_tokens: 1000",
                              "prompts: [{tokens: 4100, copies: 4}]");
  const BoundAnswer tree = bounds(settings).front();
  CHECK(tree.layout.unit_tokens == 8);
  CHECK(tree.found_tokens > 0);
  CHECK(tree.found_tokens % 64 != 0);
  // Without states that lie on a grid, anywhere.
  settings = settings_of("memory: 6 GiB, release: sglang-0.5.23, mamba_radix_cache_strategy: no_buffer",
                         "prompts: [{tokens: 4100, copies: 2}]");
  CHECK(bounds(settings).front().layout.unit_tokens == 1);
}

TEST_CASE("regression: what the replay found is possible, where a schedule finds less: memory of the host") {
  auto settings = settings_of("memory: 1 GiB", round_and_round(3));
  settings.front().scenario.simulate.host_memory_bytes = std::int64_t{64} << 30;
  const std::int64_t scheduled = layout_bound(settings.front().scenario).feasible_tokens;
  const BoundAnswer answer = bounds(settings).front();
  CHECK(answer.found_tokens > scheduled);
  CHECK(answer.layout.feasible_tokens == answer.found_tokens);
  CHECK(answer.layout.upper_tokens >= answer.found_tokens);
}

TEST_CASE("regression: a bound of a shorter length is of the cache that is replayed, which the longest one sizes") {
  for (const char* const release : {"sglang-0.5.23", "compact-slots", "vllm-0.33"}) {
    CAPTURE(release);
    Scenario scenario =
        settings_of(std::string("memory: 3 GiB, release: ") + release, "max_requests: 60").front().scenario;
    scenario.limits.max_model_lens = {16384, 2048};
    const LayoutBound longest = layout_bound(scenario), shorter = layout_bound(scenario, 2048);
    CHECK(shorter.memory_bytes == longest.memory_bytes);
    CHECK(shorter.requests < longest.requests);
    scenario.simulate.upper_bounds = true;
    const auto all = scenario_bounds(scenario);
    REQUIRE(all.size() == 2);
    CHECK(all[0]->prompt_tokens == longest.prompt_tokens);
    CHECK(all[1]->prompt_tokens == shorter.prompt_tokens);
  }
}

TEST_CASE("edge: bounds are of requests that come one after the other, and of scenarios that ask for them") {
  auto settings = settings_of("attention_pack_size: [1, 2], memory: 2 GiB", "max_requests: 50");
  Scenario both = settings.front().scenario;
  both.pack_sizes = {1, 2};
  both.limits.max_model_lens = {4096, 16384};
  CHECK(scenario_bounds(both).empty());
  both.simulate.upper_bounds = true;
  const auto all = scenario_bounds(both);
  REQUIRE(all.size() == 4);
  for (const auto& bound : all) CHECK(bound.has_value());
  CHECK(all[0]->requests < all[1]->requests);
  CHECK(all[1]->unit_tokens > all[3]->unit_tokens);
  both.simulate.driver.kind = DriverKind::closed_loop;
  for (const auto& bound : scenario_bounds(both)) CHECK(!bound.has_value());
}

TEST_CASE("fault: what a replay refuses has the name and the place that the scenario has for it") {
  ScenarioFile file = parse_scenario(
      "model: Qwen3.5-4B\nengine: {cache_mode: align, memory: 6 GiB}\nlimits: {max_model_len: 16k}\n", "asked.yaml");
  apply_override(file, "simulate.match_unit_tokens", "7", "--match-unit 7");
  CHECK_THROWS_WITH_AS(bounds(compare_settings({file}, {}, 1)),
                       doctest::Contains("--match-unit 7: simulate.match_unit_tokens: 7 does not divide"), InputError);
}

TEST_CASE("fault: a bound is of one length: several that were typed are refused, of a file the longest taken") {
  ScenarioFile file = parse_scenario(
      "model: Qwen3.5-4B\nengine: {cache_mode: align, memory: 6 GiB}\nlimits: {max_model_len: [4k, 8k]}\n"
      "simulate: {trace: {prompts: [{tokens: 6000, copies: 2}]}}\n", "asked.yaml");
  CHECK(bounds(compare_settings({file}, {}, 1)).front().layout.requests == 2);
  apply_override(file, "limits.max_model_len", "[4k, 8k]", "--max-model-len 4k,8k");
  CHECK_THROWS_WITH_AS(bounds(compare_settings({file}, {}, 1)),
                       doctest::Contains("--max-model-len 4k,8k: limits.max_model_len: 2 values where one is answered; "
                                         "give one of 4096, 8192, or all to `hybridkv simulate --upper-bounds`"),
                       InputError);
}

TEST_CASE("fault: caches without a bound") {
  const ScenarioFile none = parse_scenario(
      "model: Qwen3.5-4B\nengine: {cache_mode: none, memory: 6 GiB}\nlimits: {max_model_len: 16k}\n", "asked.yaml");
  CHECK_THROWS_WITH_AS(bounds(compare_settings({none}, {}, 1)),
                       doctest::Contains("asked.yaml:2:22: engine.cache_mode: this cache finds no prefix again, "
                                         "whatever the policy; take mode align"), InputError);
  const auto mixed = bounds(settings_of("memory: [1 MiB, 6 GiB]", "max_requests: 50"));
  CHECK(mixed[0].refused.find("too little") != std::string::npos);
  CHECK(mixed[1].refused.empty());
}

TEST_CASE("golden: the published conversation trace at 40 GiB, packs of 5 and 15") {
  const char* const folder = std::getenv("HYBRIDKV_TRACE_DIR");
  const auto file = std::filesystem::path(folder != nullptr ? folder : "") / "mooncake_conversation.jsonl";
  if (folder == nullptr || !std::filesystem::exists(file)) {
    MESSAGE("SKIPPED: HYBRIDKV_TRACE_DIR names no folder with mooncake_conversation.jsonl");
    return;
  }
  const ScenarioFile scenario = parse_scenario(
      "model: Qwen3.5-397B-A17B\n"
      "engine: {cache_mode: align, tensor_parallel: 2, memory: 40 GiB, attention_pack_size: [5, 15]}\n"
      "limits: {max_model_len: 256k}\nsimulate: {trace: {file: \"" + file.string() + "\"}}\n",
      "asked.yaml");
  for (const BoundAnswer& one : bounds(compare_settings({scenario}))) {
    CAPTURE(one.name);
    CHECK(one.layout.requests == 12'031);
    CHECK(one.layout.rate(one.layout.upper_tokens) <= 0.330);
    CHECK(one.layout.rate(one.layout.feasible_tokens) >= 0.295);
    CHECK(one.layout.rate(one.found_tokens) < 0.06);
  }
}
