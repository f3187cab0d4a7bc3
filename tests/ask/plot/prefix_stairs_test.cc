#include "ask/plot/prefix_stairs.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <optional>

#include "engines/vllm/rules.h"
#include "planner/plan.h"
#include "simulator/schedule/simulation.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

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

}  // namespace

TEST_CASE("golden: a prefix of 1600 tokens of a cached prompt hits 1584, one of 1500 nothing") {
  const CacheGeometry geometry = align_geometry(528, 2048);
  CHECK(shared_prefix_hit(geometry, 2200, 1600) == 1584);
  CHECK(shared_prefix_hit(geometry, 2200, 1500) == 0);
  CHECK(shared_prefix_hit(geometry, 2200, 2199) == 2112);
}

TEST_CASE("law: what stairs say of a shared prefix is what the scheduler finds") {
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

TEST_CASE("golden: situations of a model with states, corners only: copies in align and all, then shared starts") {
  PlotInputs inputs{.model = qwen35_397b(), .limits = {.max_model_lens = {32768}}};
  inputs.engine.tensor_parallel = 2;
  inputs.engine.memory_bytes = 40 * gib;
  inputs.set = make_plans(inputs.model, inputs.engine, inputs.limits, std::vector<std::int64_t>{4});
  const std::vector<PrefixSituation> situations = prefix_stairs(inputs);
  REQUIRE(situations.size() == 3);
  CHECK(situations[0].mode == CacheMode::align);
  CHECK(situations[1].mode == CacheMode::all);
  CHECK((situations[0].is_copy && situations[1].is_copy));
  CHECK_FALSE(situations[2].is_copy);
  CHECK(situations[2].most_tokens == 32768);
  const auto hit_at = [](const PrefixSituation& situation, std::int64_t length) {
    const auto at = std::find(situation.lengths.begin(), situation.lengths.end(), length) - situation.lengths.begin();
    return situation.layouts.front().hits.at(static_cast<std::size_t>(at));
  };
  CHECK(situations[0].layouts.front().block_size_tokens == 528);
  CHECK(hit_at(situations[0], 527) == 0);
  CHECK_FALSE(hit_at(situations[0], 528).has_value());  // an edge, in a list of its own
  CHECK(hit_at(situations[0], 529) == 528);
  CHECK(situations[1].layouts.front().block_size_tokens == 2048);  // the chunk of a scan that names none
  CHECK(hit_at(situations[1], 4096) == 2048);
  // Of what is shared with a prompt of 32,768 tokens the last checkpoint lies at 62 * 528.
  for (const PrefixSituation& situation : situations) REQUIRE(situation.layouts.size() == 1);
  CHECK(hit_at(situations[2], 1) == 0);
  CHECK(hit_at(situations[2], 32768) == 32736);
}

TEST_CASE("golden: by vLLM 0.33 there is no mode all, and a copy that ends on a boundary hits the blocks before it") {
  PlotInputs inputs{.model = qwen35_397b(), .limits = {.max_model_lens = {32768}}};
  inputs.engine = {.rules = &rules_of_vllm_0_33, .backend_profile = BackendProfile::sm90, .tensor_parallel = 2,
                   .cache_mode = CacheMode::align, .memory_bytes = 40 * gib};
  const auto hits = [&] {
    inputs.set = make_plans(inputs.model, inputs.engine, inputs.limits, std::vector<std::int64_t>{1});
    const std::vector<PrefixSituation> situations = prefix_stairs(inputs);
    REQUIRE(situations.size() == 2);
    CHECK((situations[0].is_copy && situations[0].mode == CacheMode::align));
    CHECK_FALSE(situations[1].is_copy);
    std::map<std::int64_t, std::optional<std::int64_t>> at;
    for (std::size_t i = 0; i < situations[0].lengths.size(); ++i)
      at[situations[0].lengths[i]] = situations[0].layouts.front().hits[i];
    return at;
  };
  auto at = hits();
  CHECK(at.at(2112) == 0);
  CHECK(at.at(2113) == 2112);
  CHECK(at.at(2 * 2112) == 2112);  // in June nothing
  inputs.engine.prefix_match_unit_tokens = 64;
  at = hits();
  CHECK(at.at(64) == 0);
  CHECK(at.at(65) == 64);
  CHECK(at.at(2112) == 2112 - 64);
}
