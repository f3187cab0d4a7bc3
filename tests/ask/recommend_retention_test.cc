// What is kept of states, and of windows by the rules of 0.33, decides what candidates find: each is replayed with the
// interval that its engine is told.
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "ask/recommend.h"
#include "base/error.h"
#include "simulator/sweep.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

Scenario scenario_of(const std::string& model, const std::string& release, const std::string& simulate = "",
                     const std::string& engine = ", memory: 5 GiB") {
  return read_scenario(parse_scenario("model: " + model + "\nengine: {release: " + release +
                                          ", cache_mode: align" + engine +
                                          "}\nlimits: {max_model_len: 32768}\n"
                                          "simulate: {trace: {max_requests: 60}" + simulate + "}\n",
                                      "kept.yaml"));
}

RecommendQuestion two_blocks() {
  RecommendQuestion question;
  question.space.packs = {1, 3};
  question.space.modes = {CacheMode::align, CacheMode::none};
  question.space.block_floors = {std::nullopt, 128};
  question.space.match_units = {0};
  return question;
}

/// The interval that vLLM is told; nothing: it keeps what its release keeps.
std::optional<std::int64_t> told_interval(const std::vector<EngineSetting>& settings) {
  const std::string flag = "--prefix-cache-retention-interval ";
  for (const EngineSetting& setting : settings)
    if (setting.flag.starts_with(flag)) return std::stoll(setting.flag.substr(flag.size()));
  return std::nullopt;
}

std::int64_t replayed_hits(const CacheGeometry& geometry, const TraceSpec& trace) {
  return run_sweep(*open_trace(trace), {.simulations = {{.cache = geometry}}}).caches.front().counts().hit_tokens;
}

}  // namespace

TEST_CASE("law: the interval in the command line of an engine is the one that was replayed, of states and of windows") {
  for (const char* model : {"Qwen3.5-0.8B", "gpt-oss-20b", "MiniMax-M3"})
    for (const char* release : {"vllm-0.33", "vllm-2026-06"})
      for (const char* asked : {"", ", keep_all_checkpoints: true", ", retention_interval_tokens: 0"}) {
        CAPTURE(model);
        CAPTURE(release);
        CAPTURE(asked);
        const RecommendAnswer answer = recommend_scenario(scenario_of(model, release, asked), two_blocks());
        for (const Candidate& candidate : answer.result.candidates) {
          const PlannedLayout& layout = answer.result.layout_of(candidate);
          CAPTURE(layout.geometry().block_size_tokens);
          const std::optional<std::int64_t> told =
              told_interval(block_settings({layout.plan, layout.geometry(), layout.block_floor(),
                                            candidate.match_unit_tokens, candidate.retention_tokens}));
          CHECK(told.has_value() == layout.geometry().depends_on_retention());
          CacheGeometry geometry = layout.geometry();
          geometry.match_unit_tokens = candidate.match_unit_tokens;
          if (told) geometry.retention_interval_tokens = told;
          CHECK(replayed_hits(geometry, answer.trace) == candidate.hit_tokens);
        }
      }
}

TEST_CASE("law: windows under 0.33 are searched by the retention of the release and its alternatives, each once") {
  for (const char* model : {"gpt-oss-20b", "Gemma-3-27B"}) {
    CAPTURE(model);
    const RecommendAnswer answer =
        recommend_scenario(scenario_of(model, "vllm-0.33", "", ", memory: 12 GiB"), two_blocks());
    const std::vector<Candidate>& candidates = answer.result.candidates;
    for (const Candidate& candidate : candidates) {
      CHECK(candidate.in_space);
      CHECK(candidate.retention_tokens.has_value());
      CHECK(std::ranges::count_if(candidates, [&](const Candidate& other) {
              return other.layout == candidate.layout && other.match_unit_tokens == candidate.match_unit_tokens &&
                     other.retention_tokens == candidate.retention_tokens;
            }) == 1);
    }
    REQUIRE(answer.result.default_candidate.has_value());
    const Candidate& by_default = candidates[*answer.result.default_candidate];
    CHECK(by_default.retention_tokens == 0);
    CHECK(by_default.settings_changed == 0);
    // Of each layout only the last, every block and every fourth.
    CHECK(candidates.size() == 3 * answer.result.layouts.size());
    CHECK(answer.plain_packs.size() == 2);
  }
}

TEST_CASE("regression: a pick of windows computes no more again than the default of the release") {
  Scenario scenario = scenario_of("gpt-oss-20b", "vllm-0.33");
  scenario.simulate.trace.max_requests = 300;
  const RecommendAnswer answer = recommend_scenario(scenario, two_blocks());
  const Candidate& pick = answer.result.candidates[answer.result.pick];
  const Candidate& by_default = answer.result.candidates[*answer.result.default_candidate];
  CHECK(by_default.objectives.reprefilled_tokens == 40'076);
  CHECK(pick.objectives.reprefilled_tokens <= by_default.objectives.reprefilled_tokens);
  CHECK(answer.pick.serve.command.find(" --prefix-cache-retention-interval ") != std::string::npos);
}

TEST_CASE("edge: where nothing depends on retention candidates have the release's own, which is no change") {
  for (const char* asked : {"", ", retention_interval_tokens: 64", ", keep_all_checkpoints: true"}) {
    CAPTURE(asked);
    const Scenario scenario = scenario_of("MiniMax-M3", "vllm-0.33", asked);
    const RecommendAnswer answer = recommend_scenario(scenario, two_blocks());
    for (const Candidate& candidate : answer.result.candidates) CHECK(candidate.retention_tokens == 0);
    CHECK(answer.result.candidates.size() == answer.result.layouts.size());
    REQUIRE(answer.result.default_candidate.has_value());
    CHECK(answer.result.candidates[*answer.result.default_candidate].settings_changed == 0);
    CHECK(answer.plain_packs.size() == 1);  // its attention reads no order in which packs lie
  }
}

TEST_CASE("fault: intervals that a layout does not take are left out there, and refused where none is left") {
  RecommendQuestion question = two_blocks();
  question.space.retentions = {64};
  const RecommendAnswer answer = recommend_scenario(scenario_of("gpt-oss-20b", "vllm-0.33"), question);
  REQUIRE(answer.result.impossible.size() == 2);
  for (const ImpossibleLayout& impossible : answer.result.impossible) {
    CHECK(impossible.engine.block_size_tokens == 128);
    CHECK(std::string(impossible.refusal.what()) ==
          "simulate.retention_interval_tokens: none of 64 is a multiple of the 128 tokens at which the blocks of all "
          "groups end; take one that is, or 0");
  }
  question.space.block_floors = {128};
  CHECK_THROWS_WITH_AS(recommend_scenario(scenario_of("gpt-oss-20b", "vllm-0.33"), question),
                       doctest::Contains("none of 64 is a multiple of the 128 tokens"), InputError);
  // The default's own interval is none of this block: the search goes on without it.
  const RecommendAnswer without = recommend_scenario(
      scenario_of("gpt-oss-20b", "vllm-0.33", ", retention_interval_tokens: 64",
                  ", memory: 5 GiB, block_size_tokens: 128"),
      two_blocks());
  CHECK_FALSE(without.result.default_candidate.has_value());
  REQUIRE(without.result.default_refused.has_value());
  CHECK(without.result.default_refused->path() == "simulate.retention_interval_tokens");
}
