#include "report/replay/simulate_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engines/sglang/rules.h"
#include "planner/engine_rules.h"

using namespace hybridkv;

namespace {

SimulateAnswer one_cache() {
  SimulateAnswer answer{.rules = &rules_of_sglang_0_5_23, .trace = "some prompts", .requests = 10,
                        .prompt_tokens = 5000};
  TreeStats stats;
  stats.settings = {.token_slots = 1000, .state_slots = 7};
  stats.requests = 10;
  stats.taken_prompt_tokens = stats.prompt_tokens = 5000;
  stats.hit_tokens = 1250;
  stats.requests_with_hit = 3;
  ReplayedCache& cache = answer.caches.emplace_back();
  cache.name = "small";
  cache.max_model_len = 4096;
  cache.index = stats;
  return answer;
}

TreeStats& stats_of(SimulateAnswer& answer) { return std::get<TreeStats>(answer.caches.front().index); }

std::string text_of(const SimulateAnswer& answer) { return render_simulate(answer, Format::table, {.width = 1000}); }

bool has(const SimulateAnswer& answer, const std::string& words) {
  return text_of(answer).find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("golden: a replay through a tree in its four forms") {
  const SimulateAnswer answer = one_cache();
  CAPTURE(text_of(answer));
  CHECK(has(answer, "small  1,000      7       1   1,250  25.00 %           3  0.00 %"));
  CHECK(has(answer, "All of this follows rules that were checked against a real engine"));
  CHECK(render_simulate(answer, Format::markdown).starts_with("# Replay of some prompts"));
  CHECK(render_simulate(answer, Format::csv).find("\nsmall,extra_buffer,1000,7,1,8192,64,256,10,5000,1250,0.25,3,") !=
        std::string::npos);
  const nlohmann::json json = nlohmann::json::parse(render_simulate(answer, Format::json));
  CHECK(json["caches"][0]["hit_rate"] == 0.25);
  CHECK(json["caches"][0]["token_exact_hit_tokens"] == nullptr);
}

TEST_CASE("edge: upper bounds are shown where they were asked for, and only there") {
  SimulateAnswer answer = one_cache();
  CHECK_FALSE(has(answer, "Upper bounds"));
  answer.caches.front().token_exact_hit_tokens = 2500;
  CHECK(has(answer, "Upper bounds"));
}

TEST_CASE("edge: requests that were not served are named, and make a rule that is modelled") {
  SimulateAnswer answer = one_cache();
  stats_of(answer).too_long = 2;
  stats_of(answer).refused = 1;
  CHECK(has(answer, "small: 2 of 10 requests have prompts of max_model_len (4,096 tokens) or more and are refused"));
  CHECK(has(answer, "small: 1 request does not fit the pools of 1,000 tokens and 7 states even alone"));
  CHECK(has(answer, "Modelled, not replayed from a real engine: requests that do not fit."));
  stats_of(answer).stalled = 2;
  CHECK(has(answer, "small: 3 requests do not fit"));
}

TEST_CASE("edge: what no record covers is said where it is in play") {
  SimulateAnswer answer = one_cache();
  TreeSettings& settings = stats_of(answer).settings;
  settings.decodes = true;
  CHECK_FALSE(has(answer, "Modelled"));  // a decode in pages of one token is covered
  settings.decodes = false;
  settings.page = 64;
  settings.skip_decode_lock = true;
  settings.strategy = TreeStrategy::extra_buffer_lazy;
  CHECK_FALSE(has(answer, "Modelled"));  // prefill alone
  settings.decodes = true;
  CHECK(has(answer, "Modelled, not replayed from a real engine: evictions in a decode with larger pages, "
                    "requests that end while a lazy strategy writes a state, states that are not locked during "
                    "decode."));
}
