#include "ask/replay/replay_settings.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "ask/compare/compare.h"
#include "ask/replay/bound.h"
#include "ask/replay/layout_bound.h"
#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate.h"
#include "planner/plan.h"
#include "simulator/blocks/cache_geometry.h"
#include "simulator/slots/slot_replay.h"
#include "simulator/trace/trace_spec.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

std::vector<CompareSetting> every_engine(const char* memory) {
  ScenarioFile file = parse_scenario(
      "model: Qwen3.5-4B\nengine: {release: [vllm-2026-06, vllm-0.33, sglang-0.5.23], cache_mode: align}\n"
      "limits: {max_model_len: 32768}\nsimulate: {trace: {max_requests: 300}}\n", "asked.yaml");
  apply_override(file, std::string("engine.memory=") + memory);
  return compare_settings({file}, {"engine.release"});
}

const ComparedRow& row_of(const CompareAnswer& comparison, const std::string& name) {
  const auto found = std::find_if(comparison.rows.begin(), comparison.rows.end(),
                                  [&](const ComparedRow& row) { return row.name == name; });
  REQUIRE(found != comparison.rows.end());
  return *found;
}

}  // namespace

TEST_CASE("law: a replay beside others finds what it finds alone, in every engine") {
  const std::vector<CompareSetting> settings = every_engine("4GiB");
  REQUIRE(settings.size() == 3);
  const CompareAnswer comparison = compare(settings, {.wanted = true});
  const ComparedRow& hits = row_of(comparison, "hit_tokens");
  for (std::size_t i = 0; i < 2; ++i) {
    const Scenario& scenario = settings[i].scenario;
    const SimulateAnswer alone = simulate({scenario.simulate, planned_caches(scenario)});
    CHECK(hits.values[i] == ComparedValue(alone.caches.front().blocks().hit_tokens));
    CHECK(row_of(comparison, "checkpoints_made").values[i] ==
          ComparedValue(alone.caches.front().blocks().pool.checkpoints_made));
  }
  const Scenario& tree_pools = settings[2].scenario;
  const ReplayCounts alone = simulate({tree_pools.simulate, planned_caches(tree_pools)}).caches.front().counts();
  CHECK(hits.values[2] == ComparedValue(alone.hit_tokens));
  CHECK(row_of(comparison, "checkpoints_made").values[2] == ComparedValue(alone.checkpoints_made));
  CHECK(hits.differs);
  for (const ComparedValue& rate : row_of(comparison, "hit_rate_percent").values)
    for (const ComparedValue& best : row_of(comparison, "token_exact_percent").values)
      CHECK(std::get<double>(rate) <= std::get<double>(best));
}

TEST_CASE("law: engines with an index of their own replay beside others what they replay alone") {
  ScenarioFile file = parse_scenario(
      "model: Qwen3.5-4B\nengine: {release: [tensorrt-llm, llama.cpp], cache_mode: align, memory: 5 GiB, "
      "max_running_requests: 4}\n"
      "limits: {max_model_len: 32768}\nsimulate: {trace: {max_requests: 300}}\n", "asked.yaml");
  std::vector<CompareSetting> settings = compare_settings({file}, {"engine.release"});
  const CompareAnswer comparison = compare(settings, {.wanted = true});
  const ComparedRow& hits = row_of(comparison, "hit_tokens");
  CHECK(row_of(comparison, "evidence").values ==
        std::vector<ComparedValue>{ComparedValue(std::string("run")), ComparedValue(std::string("run"))});
  const SimulateAnswer alone = simulate({settings[0].scenario.simulate, planned_caches(settings[0].scenario)});
  CHECK(hits.values[0] == ComparedValue(alone.caches.front().counts().hit_tokens));
  CHECK(alone.caches.front().counts().hit_tokens == 0);  // no snapshot is taken unless it is asked for

  const Scenario& rows = settings[1].scenario;
  const CachePlan plan = make_plan(rows.model, rows.engine, rows.limits);
  SlotReplay replay(slot_settings_of(plan));
  SlotStats stats;
  const auto trace = open_trace(rows.simulate.trace);
  for (TraceBatch batch; trace->next(batch);)
    for (const TraceRequest& request : batch.requests)
      if (!refused_for_length(request.input_length, 32'768)) stats.add(replay.run(request, batch.prompt(request)));
  CHECK(stats.hit_tokens > 0);
  CHECK(hits.values[1] == ComparedValue(stats.hit_tokens));
  CHECK(row_of(comparison, "checkpoints_made").values[1] == ComparedValue(stats.checkpoints_made));
  CHECK(row_of(comparison, "replayed_requests").values[1] == ComparedValue(stats.requests));
  for (std::size_t i = 0; i < 2; ++i)
    CHECK(std::get<double>(row_of(comparison, "hit_rate_percent").values[i]) <=
          std::get<double>(row_of(comparison, "token_exact_percent").values[i]));

  settings[1].scenario.simulate.driver.kind = DriverKind::closed_loop;
  CHECK_THROWS_WITH_AS(compare(settings, {.wanted = true}),
                       doctest::Contains("slots are replayed one prompt at a time"), InputError);
}

TEST_CASE("law: what is found is at most what is possible or proven, and both stand beside it") {
  std::vector<CompareSetting> settings = every_engine("4GiB");
  const CompareAnswer comparison = compare(settings, {.wanted = true});
  const auto& found = row_of(comparison, "hit_rate_percent").values;
  const auto& possible = row_of(comparison, "feasible_percent").values;
  const auto& upper = row_of(comparison, "upper_percent").values;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    CAPTURE(settings[i].name);
    CHECK(std::get<double>(found[i]) <= std::get<double>(upper[i]));
    CHECK(std::get<double>(possible[i]) <= std::get<double>(upper[i]));
  }
  settings.pop_back();  // a tree is replayed one request at a time
  for (CompareSetting& setting : settings) setting.scenario.simulate.driver.kind = DriverKind::closed_loop;
  const CompareAnswer beside = compare(settings, {.wanted = true});
  CHECK(std::none_of(beside.rows.begin(), beside.rows.end(),
                     [](const ComparedRow& row) { return row.name == "upper_percent"; }));
}

TEST_CASE("law: all shares are of the prompts that the engine takes, also where its memory is too small for some") {
  ScenarioFile file = parse_scenario(
      "model: Qwen3.5-4B\nengine: {release: sglang-0.5.23, memory: [900 MiB, 4 GiB], cache_mode: align}\n"
      "limits: {max_model_len: 32768}\nsimulate: {trace: {max_requests: 200}}\n", "asked.yaml");
  const std::vector<CompareSetting> settings = compare_settings({file}, {"engine.memory"});
  const CompareAnswer comparison = compare(settings, {.wanted = true});
  const auto number = [&](const char* name, std::size_t i) { return row_of(comparison, name).values[i]; };
  const auto large_refused = std::get<std::int64_t>(number("replay_refused", 1));
  CHECK(std::get<std::int64_t>(number("replay_refused", 0)) > large_refused);
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const auto tokens = std::get<std::int64_t>(number("prompt_tokens", i));
    CHECK(tokens == layout_bound(settings[i].scenario).prompt_tokens);
    const double found = 100 * static_cast<double>(std::get<std::int64_t>(number("hit_tokens", i)));
    CHECK(std::get<double>(number("hit_rate_percent", i)) == doctest::Approx(found / static_cast<double>(tokens)));
  }
  CHECK(number("prompt_tokens", 0) == number("prompt_tokens", 1));
  CHECK(number("token_exact_percent", 0) == number("token_exact_percent", 1));
}

TEST_CASE("law: found, possible and proven have one whole, wherever the longest length stands in its list") {
  for (const char* const lengths : {"[4096, 32768]", "[32768, 4096]"}) {
    CAPTURE(lengths);
    const ScenarioFile file = parse_scenario(
        "model: Qwen3.5-4B\n"
        "engine: {release: [vllm-2026-06, vllm-0.33, sglang-0.5.23], memory: 900 MiB, cache_mode: align}\n"
        "limits: {max_model_len: " + std::string(lengths) + "}\n"
        "simulate: {upper_bounds: true, trace: {prompts: [{tokens: 3000, copies: 8}, {tokens: 31000, copies: 2}]}}\n",
        "asked.yaml");
    const std::vector<CompareSetting> settings = compare_settings({file}, {"engine.release"});
    const CompareAnswer comparison = compare(settings, {.wanted = true});
    const std::vector<BoundAnswer> answers = bounds(settings);
    for (std::size_t i = 0; i < settings.size(); ++i) {
      CAPTURE(settings[i].name);
      const auto percent = [&](const char* name) { return std::get<double>(row_of(comparison, name).values[i]); };
      const BoundAnswer& one = answers[i];
      CHECK(row_of(comparison, "prompt_tokens").values[i] == ComparedValue(std::int64_t{8 * 3000 + 2 * 31000}));
      // The long ones do not fit, and count all the same.
      CHECK(row_of(comparison, "replay_refused").values[i] == ComparedValue(std::int64_t{2}));
      CHECK(percent("hit_rate_percent") == 100 * one.layout.rate(one.found_tokens));
      CHECK(percent("feasible_percent") == 100 * one.layout.rate(one.layout.feasible_tokens));
      CHECK(percent("upper_percent") == 100 * one.layout.rate(one.layout.upper_tokens));
      CHECK(percent("token_exact_percent") == 100 * one.layout.rate(one.token_exact_tokens));
      CHECK(0 < percent("hit_rate_percent"));
      CHECK(percent("hit_rate_percent") <= percent("feasible_percent"));
      CHECK(percent("feasible_percent") <= percent("upper_percent"));
    }
  }
}

TEST_CASE("edge: nothing is replayed unless it is asked for, and not where a setting is refused") {
  const CompareAnswer quiet = compare(every_engine("4GiB"));
  CHECK(std::none_of(quiet.rows.begin(), quiet.rows.end(),
                     [](const ComparedRow& row) { return row.name == "hit_tokens"; }));
  std::vector<CompareSetting> settings = every_engine("4GiB");
  settings[0].scenario.engine.memory_bytes = 1;
  const CompareAnswer comparison = compare(settings, {.wanted = true});
  REQUIRE_FALSE(comparison.settings[0].refused.empty());
  CHECK(row_of(comparison, "hit_tokens").values[0] == ComparedValue());
  CHECK(row_of(comparison, "hit_tokens").values[1] != ComparedValue());
}
