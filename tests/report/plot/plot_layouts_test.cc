#include "report/plot/plot_layouts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "planner/demand.h"
#include "planner/plan.h"
#include "report/plan/plan_table.h"
#include "tests/planner/models.h"
#include "tests/report/plot/plot_check.h"
#include "tests/report/plot/plot_svg.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

PlanSet plotted_plans(const std::vector<std::int64_t>& packs) {
  EngineSpec engine;
  engine.tensor_parallel = 2;
  engine.cache_mode = CacheMode::align;
  engine.memory_bytes = 40 * gib;
  return make_plans(qwen_hybrid("Qwen3.5-397B-A17B", 60, full_attention(2, 256), qwen_gdn(16, 64)), engine,
                    {.max_model_lens = {32768}}, packs);
}

Plot request_bytes_of(const PlanSet& set) { return plot_request_bytes(set, request_bytes(set)); }
Plot concurrency_of(const PlanSet& set) { return plot_concurrency(set, concurrency_curves(set)); }

/// A number of the table as its file shows it.
double at(const Plot& plot, std::size_t row, const std::string& column) {
  const Table& table = plot.tables.front().table;
  const auto& columns = table.columns();
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.name == column; });
  REQUIRE(found != columns.end());
  return std::strtod(raw_cell(table.rows().at(row).at(static_cast<std::size_t>(found - columns.begin()))).c_str(),
                     nullptr);
}

}  // namespace

TEST_CASE("golden: block and padding of Qwen3.5-397B against the pack size") {
  const Plot plot = plot_block_size(plotted_plans({15, 1, 5, 4}));
  const std::vector<double> packs{1, 4, 5, 15}, blocks{2096, 528, 432, 144}, padding{0.58, 1.34, 3.65, 3.65};
  for (std::size_t row = 0; row < packs.size(); ++row) {
    CHECK(at(plot, row, "attention_pack_size") == packs[row]);
    CHECK(at(plot, row, "block_size_tokens") == blocks[row]);
    CHECK(std::abs(at(plot, row, "padding_percent") - padding[row]) < 0.005);
  }
  // The last of 4 packs of 4 lacks one of the 15 layers; 5 and 15 divide them.
  CHECK(at(plot, 1, "short_pack_bytes") > 0);
  CHECK(at(plot, 2, "short_pack_bytes") == 0);
  CHECK(at(plot, 3, "short_pack_bytes") == 0);
}

TEST_CASE("law: waste by cause adds up to the waste of the plan") {
  const PlanSet set = plotted_plans({1, 2, 3, 8});
  const Plot plot = plot_block_size(set);
  for (std::size_t row = 0; row < set.plans.size(); ++row) {
    double sum = 0;
    for (const std::string& column : plot.panels.back().series.front().columns) sum += at(plot, row, column);
    CHECK(sum == static_cast<double>(set.plans[row].waste.at_load.wasted_bytes()));
  }
}

TEST_CASE("golden: bytes of a request of 32,768 tokens end at the published sizes") {
  const Plot plot = request_bytes_of(plotted_plans({1, 3, 4}));
  const std::size_t last = plot.tables.front().table.rows().size() - 1;
  CHECK(at(plot, last, "request_tokens") == 32768);
  CHECK(std::abs(at(plot, last, "bytes_n1") / mib - 675.5) < 0.05);
  CHECK(std::abs(at(plot, last, "bytes_n3") / mib - 670.3) < 0.05);
  CHECK(std::abs(at(plot, last, "bytes_n4") / mib - 717.8) < 0.05);
  CHECK(at(plot, last, "ideal_bytes") == 15.0 * 1024 * 32768 + 45.0 * 2134016);
}

TEST_CASE("law: corners of the stairs are what the planner says at their length") {
  const PlanSet set = plotted_plans({1, 5});
  const Plot plot = request_bytes_of(set);
  std::size_t corners = 0;
  for (std::size_t row = 0; row < plot.tables.front().table.rows().size(); ++row) {
    const auto length = static_cast<std::int64_t>(at(plot, row, "request_tokens"));
    const double bytes = at(plot, row, "bytes_n1");
    if (bytes == 0) continue;
    ++corners;
    CHECK(bytes == static_cast<double>(bytes_of(set.plans[0], request_demand(set.plans[0], length))));
  }
  CHECK(corners == 2 * 15 + 2);  // both sides of 15 block ends, the first token and the last
}

TEST_CASE("golden: requests at once are the concurrency without the null block") {
  const PlanSet set = plotted_plans({1, 5});
  const Plot plot = concurrency_of(set);
  CHECK(at(plot, 0, "requests_at_32768") == set.plans[0].capacity[0].usable_concurrency);
  CHECK(at(plot, 1, "requests_at_32768") == set.plans[1].capacity[0].usable_concurrency);
  CHECK(plot.panels.front().series.size() == 4);  // 512, 2048, 8192 and 32768 tokens
}

TEST_CASE("law: pictures of plans show the values of their tables") {
  if (!has_gnuplot()) return;
  const PlanSet set = plotted_plans({1, 2, 3, 4, 5, 8, 15});
  check_drawn(plot_block_size(set));
  check_drawn(request_bytes_of(set));
  check_drawn(concurrency_of(set));
}

TEST_CASE("edge: fifteen packs stand apart: facets side by side, a hue each where lines share a panel") {
  if (!has_gnuplot()) return;
  std::vector<std::int64_t> packs;
  for (std::int64_t pack = 1; pack <= 15; ++pack) packs.push_back(pack);
  const PlanSet set = plotted_plans(packs);
  const Plot plot = request_bytes_of(set);
  check_drawn(plot);
  CHECK(plot.panels.size() == 16);
  for (std::size_t i = 1; i < plot.panels.size(); ++i) CHECK(plot.panels[i].title == layout_title(set.plans[i - 1]));
}

TEST_CASE("edge: one layout is not compared with itself, and a legend does not repeat its axis") {
  const PlanSet set = plotted_plans({1});
  CHECK(concurrency_of(set).panels.size() == 1);
  const Plot blocks = plot_block_size(set);
  for (const std::size_t panel : {0, 1}) CHECK_FALSE(blocks.panels[panel].series.front().in_legend);
}

TEST_CASE("edge: one plan, a model without states and one without attention are drawn too") {
  if (!has_gnuplot()) return;
  for (const bool attention : {true, false}) {
    EngineSpec engine;
    engine.memory_bytes = gib;
    const ModelSpec model =
        hybrid_model("half", 4, full_attention(2, 64), qwen_gdn(4, 8), [&](std::int64_t) { return attention; });
    const std::vector<std::int64_t> packs{1};
    const PlanSet set = make_plans(model, engine, {.max_model_lens = {1000, 3000}}, packs);
    CAPTURE(attention);
    read_plot_svg(drawn(plot_block_size(set)));
    read_plot_svg(drawn(request_bytes_of(set)));
    read_plot_svg(drawn(concurrency_of(set)));
  }
}
