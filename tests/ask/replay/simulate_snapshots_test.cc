// Replays of TensorRT-LLM with a tier on the host, asked for by a scenario.
#include <doctest/doctest.h>

#include "ask/replay/bound.h"
#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate.h"
#include "base/error.h"
#include "planner/plan.h"
#include "simulator/snapshots/snapshot_replay.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Pools that hold but a part of the trace.
Scenario scenario_with_host(const std::string& host) {
  Scenario scenario = read_scenario(parse_scenario(
      "model: Qwen3.5-4B\nengine: {release: tensorrt-llm, memory: 2 GiB, max_batch_size: 4, "
      "additional_snapshot_offsets_from_end: [0], enable_branch_snapshot: true" + host + "}\n"
      "limits: {max_model_len: 32768}\nsimulate: {trace: {max_requests: 300}}\n", "host.yaml"));
  scenario.simulate.losses = scenario.simulate.upper_bounds = true;
  return scenario;
}

/// What the plan says, by hand.
SnapshotSettings settings_by_plan(const CachePlan& plan) {
  const GroupHost& host = plan.pool_groups->host;
  SnapshotSettings settings{.blocks = plan.arenas[0].num_ids, .states = plan.arenas[1].num_ids,
                            .host_blocks = host.blocks, .host_states = host.states};
  settings.points.from_end = {0};
  settings.points.at_branches = true;
  return settings;
}

}  // namespace

TEST_CASE("law: a replay with host_cache_size is that of the pools which the plan has, request by request") {
  const Scenario scenario = scenario_with_host(", host_cache_size: 6 GiB");
  const CachePlan plan = make_plan(scenario.model, scenario.engine, scenario.limits);
  REQUIRE(plan.pool_groups->host.exists());
  SnapshotReplay replay(settings_by_plan(plan));
  std::vector<SnapshotRecord> wanted;
  const auto trace = open_trace(scenario.simulate.trace);
  for (TraceBatch batch; trace->next(batch);)
    for (const TraceRequest& request : batch.requests)
      wanted.push_back(refused_for_length(request.input_length, 32'768) ? replay.turned_away(request)
                                                                        : replay.run(request, batch.prompt(request)));
  std::vector<SnapshotRecord> seen;
  const SimulateAnswer answer = simulate(
      {scenario.simulate, planned_caches(scenario)},
      {.on_record = [&](const RecordView& record, const ReuseLoss*) {
        seen.push_back(*std::get<const SnapshotRecord*>(record));
      }});
  CHECK(seen == wanted);
  const SnapshotStats& stats = std::get<SnapshotStats>(answer.caches.front().index);
  CHECK(stats.settings.host_blocks == plan.pool_groups->host.blocks);
  CHECK(stats.settings.host_states == plan.pool_groups->host.states);
  std::int64_t blocks = 0, states = 0;
  for (const SnapshotRecord& record : wanted) blocks += record.loaded_blocks, states += record.loaded_states;
  CHECK(blocks > 0);
  CHECK(stats.loaded_blocks == blocks);
  CHECK(stats.loaded_states == states);

  const ReuseLoss& losses = answer.caches.front().losses->total;
  CHECK(losses.found_tokens == stats.hit_tokens);
  CHECK(losses.found_tokens + losses.total() == losses.token_exact_tokens);
}

TEST_CASE("law: what lies on the host is found again, and counts in the bound") {
  const Scenario without = scenario_with_host(""), with = scenario_with_host(", host_cache_size: 6 GiB");
  const auto replayed = [](const Scenario& scenario) {
    return simulate({scenario.simulate, planned_caches(scenario)}).caches.front();
  };
  const ReplayedCache device = replayed(without), tiered = replayed(with);
  CHECK(tiered.counts().hit_tokens > device.counts().hit_tokens);
  CHECK(layout_bound(with).memory_bytes - layout_bound(without).memory_bytes == (std::int64_t(6) << 30));
  CHECK_FALSE(std::get<SnapshotStats>(device.index).settings.has_host());
}

TEST_CASE("edge: memory of the host is said by the engine's own key") {
  Scenario scenario = scenario_with_host("");
  scenario.simulate.host_memory_bytes = 1 << 30;
  CHECK_THROWS_WITH_AS(simulate({scenario.simulate, planned_caches(scenario)}),
                       doctest::Contains("engine.host_cache_size says what its host keeps"), InputError);
}

TEST_CASE("regression: where whole blocks alone match, a snapshot inside of one is found, and no bound is below that") {
  // The tree keeps the prompt up to its last snapshot at 1,500, of which whole blocks end at 1,488: 1,400 lies in one.
  const Scenario scenario = read_scenario(parse_scenario(
      "model: Qwen3.5-4B\nengine: {release: tensorrt-llm, memory: 2 GiB, max_batch_size: 4, tokens_per_block: 16, "
      "enable_partial_reuse: false, periodic_snapshot_interval: 100}\nlimits: {max_model_len: 32768}\n"
      "simulate: {trace: {prompts: [{tokens: 1599, copies: 2}]}}\n", "snapshots.yaml"));
  CHECK(make_plan(scenario.model, scenario.engine, scenario.limits).prefix.match_unit_tokens == 100);
  const SimulateAnswer found = simulate({scenario.simulate, planned_caches(scenario), {}});
  CHECK(counts_of(found.caches.front().index).hit_tokens == 1400);
  CHECK(layout_bound(scenario).upper_tokens == 1500);
}
