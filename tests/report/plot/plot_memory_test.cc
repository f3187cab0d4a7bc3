#include "report/plot/plot_memory.h"

#include <doctest/doctest.h>

#include "planner/plan.h"
#include "tests/planner/models.h"
#include "tests/report/plot/plot_check.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("law: curves of policies and bounds stand where the axes say, at memories of real machines") {
  PlotInputs inputs;
  inputs.model = qwen35_397b();
  inputs.engine.cache_mode = CacheMode::align;
  inputs.engine.memory_bytes = std::int64_t{40} << 30;
  const std::vector<std::int64_t> packs{5};
  inputs.set = make_plans(inputs.model, inputs.engine, {.max_model_lens = {4096}}, packs);
  MemoryCurves curves{.trace = "two requests",
                      .memory_bytes = {std::int64_t{10} << 30, std::int64_t{100} << 30},
                      .policies = {EvictionPolicy::lru, EvictionPolicy::worth},
                      .found = {},
                      .upper = {0.3, std::nullopt},
                      .feasible = {0.25, std::nullopt}};
  const ReplayCounts found{.taken_prompt_tokens = 100, .hit_tokens = 10};
  curves.found = {{found, found}, {std::nullopt, found}};
  const Plot plot = plot_memory_curves(inputs, curves);
  CHECK(plot.panels.front().x.ticks == std::vector<double>{12, 16, 24, 40, 80});
  CHECK(plot.tables.front().table.rows().size() == 2);
  CHECK(plot.panels.front().series.size() == 4);
  CHECK(plot.caption.starts_with("two requests, one at a time. Possible: "));
  if (has_gnuplot()) check_drawn(plot);
  // Requests beside each other have no bound: no line without a point, and no word of it.
  curves.upper = curves.feasible = {std::nullopt, std::nullopt};
  inputs.simulate.driver.kind = DriverKind::closed_loop;
  const Plot unbounded = plot_memory_curves(inputs, curves);
  CHECK(unbounded.panels.front().series.size() == 2);
  CHECK(unbounded.caption.starts_with("two requests, 64 requests in flight, prefill and decode. Policies but lru"));
  if (has_gnuplot()) check_drawn(unbounded);
}
