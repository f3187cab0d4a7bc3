#include "ask/plot/waterfall.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>

#include "ask/plot/memory_curves.h"
#include "ask/plot/plot_values.h"
#include "ask/plot/replay_curves.h"
#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate.h"
#include "base/error.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("law: what pictures of replays find is what simulate finds, whatever the section simulate says") {
  for (const char* release : {"vllm-2026-06", "vllm-0.33"})
    for (const char* settings :
         {"", ", match_unit_tokens: 16, retention_interval_tokens: 0", ", keep_all_checkpoints: true",
          ", host_memory: 1 GiB", ", driver: closed_loop, in_flight: 5, max_num_seqs: 2", ", branch_point: false",
          ", eviction: worth", ", checkpoint_back: 1"}) {
      const std::string said = settings;
      if (std::string_view(release) == "vllm-0.33" && said == ", checkpoint_back: 1") continue;  // of June alone
      CAPTURE(release);
      CAPTURE(settings);
      const Scenario scenario =
          small_scenario(std::string("  attention_pack_size: [1, 3]\n  release: ") + release + "\n",
                         "simulate: {trace: {max_requests: 300}" + said + "}\n");
      const SimulateAnswer answer = simulate({scenario.simulate, planned_caches(scenario)});
      const PlotInputs inputs = plot_inputs(scenario);
      const Waterfalls falls = waterfalls(inputs);
      const HitRates rates = hit_rates(inputs);
      REQUIRE(falls.plans.size() == 2);
      for (std::size_t i = 0; i < 2; ++i) {
        const SimulationStats& stats = answer.caches[i].blocks();
        CHECK(stats.hit_tokens > 0);
        CHECK(falls.plans[i].total.found_tokens == stats.hit_tokens);
        CHECK(rates.plans[i].by_memory[whole_memory].hit_tokens == stats.hit_tokens);
      }
      const MemoryCurves curves = memory_curves(inputs);
      const auto whole = std::ranges::find(curves.memory_bytes, scenario.engine.memory_bytes);
      REQUIRE(whole != curves.memory_bytes.end());
      const auto policy = std::ranges::find(curves.policies, scenario.simulate.scheduler.eviction);
      REQUIRE(policy != curves.policies.end());
      const auto& found = curves.found[static_cast<std::size_t>(policy - curves.policies.begin())];
      CHECK(found[static_cast<std::size_t>(whole - curves.memory_bytes.begin())]->hit_tokens ==
            answer.caches.front().blocks().hit_tokens);
      CHECK(curves.upper.back().has_value() == (scenario.simulate.driver.kind == DriverKind::one_at_a_time));
    }
}

TEST_CASE("law: blocks in use are those of the scenario's driver, or of a closed loop where it has one at a time") {
  const auto asked = [](const std::string& driver) {
    return small_scenario("", "simulate: {trace: {max_requests: 40}, in_flight: 7" + driver + "}\n");
  };
  const Scenario plain = asked(""), loop = asked(", driver: closed_loop");
  const BlocksInUse blocks = blocks_in_use(plot_inputs(plain));
  CHECK(blocks.driver == loop.simulate.driver);
  const SimulationStats alone = simulate({loop.simulate, planned_caches(loop)}).caches.front().blocks();
  CHECK(blocks.plans.front().series == alone.series);
  CHECK(blocks.plans.front().hit_tokens == alone.hit_tokens);
  CHECK(blocks_in_use(plot_inputs(asked(", driver: open_loop"))).driver.kind == DriverKind::open_loop);
}

TEST_CASE("fault: what simulate refuses no picture of a replay shows, under the scenario's name of it") {
  const Scenario windows = read_scenario(parse_scenario(
      "model: gpt-oss-20b\nengine: {memory: 5 GiB}\nlimits: {max_model_len: 4096}\nsimulate: {host_memory: 1 GiB}\n",
      "host.yaml"));
  const Scenario unit = small_scenario("", "simulate: {match_unit_tokens: 7}\n");
  for (const PlotKind kind :
       {PlotKind::hit_rate, PlotKind::blocks_in_use, PlotKind::waterfall, PlotKind::memory_curve}) {
    CHECK_THROWS_WITH_AS(plot_values(kind, plot_inputs(windows)),
                         "simulate.host_memory: blocks with windows are not loaded from the host here; leave it out",
                         SpecError);
    CHECK_THROWS_WITH_AS(plot_values(kind, plot_inputs(unit)),
                         doctest::Contains("simulate.match_unit_tokens: 7 does not divide the block"), SpecError);
  }
}
