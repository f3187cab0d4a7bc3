#include "report/plot_prefix.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdlib>

#include "simulator/simulation.h"
#include "tests/planner/models.h"
#include "tests/report/plot_check.h"

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

CacheGeometry align_geometry(std::int64_t block, std::int64_t budget) {
  return {.block_size_tokens = block,
          .num_blocks = 100'000,
          .state_groups = 1,
          .mode = CacheMode::align,
          .max_num_batched_tokens = budget};
}

/// What the scheduler finds: a cold prompt, then one that shares its first tokens and goes on with others.
std::int64_t simulated_hit(const CacheGeometry& geometry, std::int64_t cached, std::int64_t shared) {
  std::int64_t hit = -1;
  Simulation simulation(geometry, {}, [&](const RequestRecord& record) { hit = record.hit_tokens; });
  TraceBatch batch;
  const std::uint64_t chain = extend_chain(empty_chain, 1, 0);
  batch.runs = {{cached, chain}, {shared, chain}, {shared + 1000, extend_chain(chain, 2, shared)}};
  batch.requests = {{.index = 0, .input_length = cached, .first_run = 0, .num_runs = 1},
                    {.index = 1, .input_length = shared + 1000, .first_run = 1, .num_runs = 2}};
  simulation.consume(batch);
  simulation.finish();
  return hit;
}

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

TEST_CASE("golden: a prefix of 1600 tokens of a cached prompt hits 1584, one of 1500 nothing") {
  const CacheGeometry geometry = align_geometry(528, 2048);
  CHECK(shared_prefix_hit(geometry, 2200, 1600) == 1584);
  CHECK(shared_prefix_hit(geometry, 2200, 1500) == 0);
  CHECK(shared_prefix_hit(geometry, 2200, 2199) == 2112);
}

TEST_CASE("law: what is drawn of a shared prefix is what the scheduler finds") {
  CHECK(rc::check("align and all, with and without a drafter", [] {
    CacheGeometry geometry = align_geometry(16 * *rc::gen::inRange<std::int64_t>(1, 20), 1024);
    geometry.mode = *rc::gen::element(CacheMode::align, CacheMode::all, CacheMode::none);
    geometry.drafter_drops_block = *rc::gen::arbitrary<bool>();
    geometry.state_groups = *rc::gen::inRange<std::int64_t>(0, 3);
    const auto cached = *rc::gen::inRange<std::int64_t>(2, 5000);
    const auto shared = *rc::gen::inRange<std::int64_t>(1, cached);
    RC_ASSERT(shared_prefix_hit(geometry, cached, shared) == simulated_hit(geometry, cached, shared));
  }));
}

TEST_CASE("edge: a step below the block lets no prompt through, so nothing hits") {
  CHECK(shared_prefix_hit(align_geometry(528, 512), 4096, 4000) == 0);
}

TEST_CASE("golden: stairs of block 528: 552 and 979 tokens hit a block, 528 and 1056 nothing") {
  const Plot plot = plot_staircase(qwen_inputs({1, 4}));
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
  CHECK(hit_at(all, "hit_n4", 1056) == 528);  // mode all keeps every boundary, but not the last token
}

TEST_CASE("law: the staircase shows the values of its tables, of models with and without states") {
  if (!has_gnuplot()) return;
  check_drawn(plot_staircase(qwen_inputs({1, 2, 4, 15})));
  PlotInputs inputs;
  inputs.model = hybrid_model("attention", 4, full_attention(2, 64), qwen_gdn(4, 8), [](std::int64_t) { return true; });
  inputs.engine.memory_bytes = gib;
  inputs.limits.max_model_lens = {4096};
  inputs.set = make_plans(inputs.model, inputs.engine, inputs.limits, std::vector<std::int64_t>{1});
  const Plot plot = plot_staircase(inputs);
  CHECK(plot.panels.size() == 1);
  check_drawn(plot);
}
