#include "report/plot/plot_simulation.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "planner/plan.h"
#include "simulator/blocks/plan_geometry.h"
#include "simulator/sweep.h"
#include "tests/planner/models.h"
#include "tests/report/plot/plot_check.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

PlotInputs small_traffic(const std::vector<std::int64_t>& packs, std::int64_t memory = 8 * gib) {
  PlotInputs inputs;
  inputs.model = qwen_hybrid("Qwen3.5-397B-A17B", 60, full_attention(2, 256), qwen_gdn(16, 64));
  inputs.engine.tensor_parallel = 2;
  inputs.engine.cache_mode = CacheMode::align;
  inputs.engine.memory_bytes = memory;
  inputs.limits.max_model_lens = {32768};
  inputs.simulate.trace.synthetic.num_requests = 300;
  inputs.set = inputs.compared = make_plans(inputs.model, inputs.engine, inputs.limits, packs);
  return inputs;
}

Plot hit_rate_of(const PlotInputs& inputs) { return plot_hit_rate(inputs, hit_rates(inputs)); }
std::vector<Plot> blocks_of(const PlotInputs& inputs) { return plot_blocks_in_use(inputs, blocks_in_use(inputs)); }

double number_at(const Table& table, std::size_t row, std::size_t column) {
  return std::strtod(raw_cell(table.rows().at(row).at(column)).c_str(), nullptr);
}

}  // namespace

TEST_CASE("law: hit rates are those of the simulator, at the plan's own memory in both diagrams") {
  const PlotInputs inputs = small_traffic({5, 1});
  const Plot plot = hit_rate_of(inputs);
  const SyntheticTraceSpec& trace = inputs.simulate.trace.synthetic;
  for (std::size_t i = 0; i < 2; ++i) {
    Simulation simulation(geometry_of(inputs.set.plans[i], inputs.engine));
    SyntheticTrace source(trace);
    for (TraceBatch batch; source.next(batch);) simulation.consume(batch);
    const double rate = 100 * simulation.finish().hit_rate();
    CHECK(rate > 1);
    CHECK(number_at(plot.tables[0].table, 1 - i, 2) == rate);  // by pack size: 1, then 5
    CHECK(number_at(plot.tables[1].table, 3, 1 + i) == rate);  // by memory: the fourth is the plan's own
    CHECK(number_at(plot.tables[0].table, 1 - i, 3) >= rate);  // a pool that never evicts
  }
  CHECK(number_at(plot.tables[1].table, 3, 0) == 8.0 * gib);
}

TEST_CASE("golden: a second copy of 979 tokens finds 528 of them again, from prompts written out") {
  PlotInputs inputs = small_traffic({4});
  inputs.simulate.trace.prompts = {{.tokens = 979, .copies = 2}};
  const Plot plot = hit_rate_of(inputs);
  CHECK(number_at(plot.tables[0].table, 0, 1) == 528);
  CHECK(number_at(plot.tables[0].table, 0, 2) == doctest::Approx(100.0 * 528 / (2 * 979)));
  CHECK(plot.caption.starts_with("a prompt written out, one at a time."));
}

TEST_CASE("law: pictures of simulations show the values of their tables") {
  if (!has_gnuplot()) return;
  const PlotInputs inputs = small_traffic({1, 5});
  check_drawn(hit_rate_of(inputs));
  const std::vector<Plot> plots = blocks_of(inputs);
  REQUIRE(plots.size() == 2);
  for (const Plot& plot : plots) check_drawn(plot);
}

TEST_CASE("edge: memory is marked in GiB, whatever it is") {
  const Plot plot = hit_rate_of(small_traffic({1}, 5 * gib));
  const PlotAxis& memory = plot.panels[1].x;
  CHECK(memory.unit == "GiB");
  CHECK(memory.ticks == std::vector<double>{0.625, 1.25, 2.5, 5, 10, 20});
  const PlotAxis& rate = plot.panels[1].y;
  CHECK(rate.floor == 0);
  CHECK(rate.ceiling == 100);
}

TEST_CASE("edge: memory that holds no request of the trace has no hit rate") {
  const Plot plot = hit_rate_of(small_traffic({1}, gib));
  CHECK(raw_cell(plot.tables[1].table.rows()[0][1]).empty());
  CHECK_FALSE(raw_cell(plot.tables[1].table.rows()[5][1]).empty());
}

TEST_CASE("edge: memory that a single request of the trace does not fit has no hit rate") {
  const PlotInputs inputs = small_traffic({1});
  const HitRates all = hit_rates(inputs);
  const auto cell_where = [&](std::int64_t SimulationStats::*unserved) {
    HitRates values = all;
    if (unserved != nullptr) values.plans[0].by_memory[whole_memory].*unserved = 1;
    return raw_cell(plot_hit_rate(inputs, values).tables[1].table.rows()[whole_memory][1]);
  };
  CHECK_FALSE(cell_where(nullptr).empty());
  CHECK(cell_where(&SimulationStats::refused).empty());
  CHECK(cell_where(&SimulationStats::stalled).empty());
}

TEST_CASE("edge: a mode without prefix caching hits nothing and is drawn all the same") {
  if (!has_gnuplot()) return;
  PlotInputs inputs = small_traffic({1, 5});
  inputs.engine.cache_mode = CacheMode::none;
  inputs.set = inputs.compared =
      make_plans(inputs.model, inputs.engine, inputs.limits, std::vector<std::int64_t>{1, 5});
  const Plot plot = hit_rate_of(inputs);
  CHECK(number_at(plot.tables[0].table, 0, 2) == 0);
  check_drawn(plot);
}

TEST_CASE("law: blocks held never exceed the usable ones, and captions say what is modelled") {
  const std::vector<Plot> plots = blocks_of(small_traffic({5}));
  const Table& table = plots.at(0).tables[0].table;
  CHECK(table.rows().size() > 50);
  for (std::size_t row = 0; row < table.rows().size(); ++row)
    CHECK(number_at(table, row, 1) + number_at(table, row, 2) <= number_at(table, row, 4));
  CHECK(plots[0].caption.find("Modelled, not replayed") != std::string::npos);
}

TEST_CASE("fault: a step below the block is refused before anything waits for ever") {
  PlotInputs inputs = small_traffic({1});
  inputs.engine.max_num_batched_tokens = 1024;
  inputs.set = inputs.compared =
      make_plans(inputs.model, inputs.engine, inputs.limits, std::vector<std::int64_t>{1});
  CHECK_THROWS_AS(hit_rate_of(inputs), SpecError);
}
