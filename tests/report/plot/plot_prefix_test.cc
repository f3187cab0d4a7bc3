#include "report/plot/plot_prefix.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "planner/plan.h"
#include "tests/planner/models.h"
#include "tests/report/plot/plot_check.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

PlotInputs qwen_inputs(const std::vector<std::int64_t>& packs) {
  PlotInputs inputs;
  inputs.model = qwen_hybrid("Qwen3.5-397B-A17B", 60, full_attention(2, 256), qwen_gdn(16, 64));
  inputs.engine.tensor_parallel = 2;
  inputs.engine.cache_mode = CacheMode::align;
  inputs.engine.memory_bytes = 40 * gib;
  inputs.limits.max_model_lens = {32768};
  inputs.set = inputs.compared = make_plans(inputs.model, inputs.engine, inputs.limits, packs);
  return inputs;
}

Plot staircase_of(const PlotInputs& inputs) { return plot_staircase(inputs, prefix_stairs(inputs)); }

/// The value of a column at a length, or -1 where the table has none.
std::int64_t hit_at(const Table& table, const std::string& name, std::int64_t length) {
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    if (table.columns()[i].name != name) continue;
    for (const auto& row : table.rows())
      if (std::get<std::int64_t>(row[0]) == length && !raw_cell(row[i]).empty())
        return std::strtoll(raw_cell(row[i]).c_str(), nullptr, 10);
  }
  return -1;
}

}  // namespace

TEST_CASE("golden: stairs of block 528: 552 and 979 tokens hit a block, 528 and 1056 nothing") {
  const Plot plot = staircase_of(qwen_inputs({1, 4}));
  REQUIRE(plot.tables.size() == 3);
  const Table& align = plot.tables[0].table;
  CHECK(hit_at(align, "hit_n4", 527) == 0);
  CHECK(hit_at(align, "on_boundary_hit_n4", 528) == 0);
  CHECK(hit_at(align, "hit_n4", 528) == -1);
  CHECK(hit_at(align, "hit_n4", 529) == 528);
  CHECK(hit_at(align, "hit_n4", 1055) == 528);
  CHECK(hit_at(align, "on_boundary_hit_n4", 1056) == 0);
  CHECK(hit_at(align, "hit_n1", 2097) == 2096);
  const Table& all = plot.tables[1].table;
  CHECK(hit_at(all, "hit_n4", 4096) == 2048);  // mode all keeps every boundary, but not the last token
}

TEST_CASE("law: the staircase shows the values of its tables, of models with and without states") {
  if (!has_gnuplot()) return;
  check_drawn(staircase_of(qwen_inputs({1, 2, 4, 15})));
  PlotInputs inputs;
  inputs.model = hybrid_model("attention", 4, full_attention(2, 64), qwen_gdn(4, 8), [](std::int64_t) { return true; });
  inputs.engine.memory_bytes = gib;
  inputs.limits.max_model_lens = {4096};
  inputs.set = make_plans(inputs.model, inputs.engine, inputs.limits, std::vector<std::int64_t>{1});
  const Plot plot = staircase_of(inputs);
  CHECK(plot.panels.size() == 1);
  check_drawn(plot);
}
