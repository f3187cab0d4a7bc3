// Full planning results of two models as vLLM computed them: uniform page (branch main) and packed (PR 35703).
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "planner/plan.h"
#include "tests/planner/models.h"
#include "test_paths.h"

using namespace hybridkv;
using nlohmann::json;

namespace {

std::vector<json> published_configs() {
  std::ifstream file(HYBRIDKV_TEST_DATA "/planner/kv_configs.jsonl");
  REQUIRE(file.is_open());
  std::vector<json> rows;
  for (std::string line; std::getline(file, line);) rows.push_back(json::parse(line));
  return rows;
}

EngineSpec engine_of(const json& row, std::int64_t memory_gib) {
  EngineSpec engine;
  engine.tensor_parallel = row["tp"];
  engine.kv_dtype = parse_dtype(row["kv_dtype"].get<std::string>());
  engine.ssm_dtype = parse_dtype(row["ssm_dtype"].get<std::string>());
  engine.conv_dtype = parse_dtype(row["conv_dtype"].get<std::string>());
  engine.cache_mode = *parse_cache_mode(row["mamba_cache_mode"].get<std::string>());
  engine.attention_pack_size = row["attn_pack_size"];
  engine.memory_bytes = memory_gib * testing::gib;
  return engine;
}

ModelSpec model_of(const json& row) {
  return row["model"] == "Qwen3.5-397B-A17B" ? testing::qwen35_397b() : testing::granite_h_small();
}

void check_structure(const json& row, const CachePlan& plan) {
  const std::int64_t block = row["block_size"];
  for (const SpecPlan& spec : plan.specs)
    if (spec.attention) CHECK(spec.block_size_tokens == block);
  CHECK(plan.page_bytes() == row["page_size_bytes"].get<std::int64_t>());
  CHECK(plan.pools.size() == row["group_size"].get<std::size_t>());
  // In mode none, without prefix caching, engines print a multiple of the whole sequence that nothing uses.
  const std::int64_t unit = row["prefix_caching"].get<bool>() ? row["hash_block_size"].get<std::int64_t>() : block;
  if (row["prefix_caching"].get<bool>()) CHECK(row["scheduler_block_size"].get<std::int64_t>() == unit);
  CHECK(plan.prefix.match_unit_tokens == unit);
  REQUIRE(plan.groups.size() == row["groups"].size());
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const json& group = row["groups"][i];
    const SpecPlan& spec = plan.specs[plan.groups[i].spec];
    CHECK(spec.state.has_value() == group["recurrent"].get<bool>());
    CHECK(spec.block_size_tokens == group["block_size"].get<std::int64_t>());
    CHECK(plan.groups[i].layers() == group["layers"].get<std::vector<std::int64_t>>());
  }
  for (std::size_t i = 0; i < plan.pools.size(); ++i) {
    std::vector<std::int64_t> layers;
    for (const LayerRef& layer : plan.pools[i].shared_by) layers.push_back(layer.layer);
    CHECK(layers == row["pools"][i].get<std::vector<std::int64_t>>());
  }
}

void check_states(const json& row, const CachePlan& plan) {
  for (const SpecPlan& spec : plan.specs) {
    if (!spec.state) {
      CHECK(spec.attention->kv_heads == row["kv_heads"].get<std::int64_t>());
      continue;
    }
    CHECK(spec.state->bytes == row["mamba_raw_bytes"].get<std::int64_t>());
    std::vector<std::vector<std::int64_t>> shapes;
    for (const StateTensor& tensor : spec.state->tensors) {
      shapes.emplace_back();
      for (const Axis& axis : tensor.layout.axes()) shapes.back().push_back(axis.extent);
    }
    CHECK(shapes == row["state_shapes"].get<std::vector<std::vector<std::int64_t>>>());
  }
}

void check_capacity(const json& result, const CachePlan& plan) {
  CHECK(plan.num_blocks() == result["num_blocks"].get<std::int64_t>());
  CHECK(plan.pools.front().bytes == result["tensor_bytes"].get<std::int64_t>());
  CHECK(plan.pools.size() == result["num_tensors"].get<std::size_t>());
  CHECK(plan.capacity.front().max_concurrency == result["max_concurrency"].get<double>());
  CHECK(plan.capacity.front().kv_cache_tokens == result["capacity_tokens"].get<std::int64_t>());
}

}  // namespace

TEST_CASE("golden: groups, pools, states and capacity of 128 published configurations") {
  std::size_t rows = 0;
  std::size_t plans = 0;
  for (const json& row : published_configs()) {
    ++rows;
    CAPTURE(row["model"].get<std::string>());
    CAPTURE(row["tp"].get<int>());
    CAPTURE(row["attn_pack_size"].get<int>());
    CAPTURE(row["mamba_cache_mode"].get<std::string>());
    bool structure_checked = false;
    for (const json& result : row["results"]) {
      CAPTURE(result.dump());
      const LimitsSpec limits{.max_model_lens = {result["max_model_len"]}};
      const EngineSpec engine = engine_of(row, result["mem_gib"]);
      if (result.contains("error")) {
        CHECK_THROWS_AS(make_plan(model_of(row), engine, limits), SpecError);
        continue;
      }
      const CachePlan plan = make_plan(model_of(row), engine, limits);
      if (!structure_checked) {
        check_structure(row, plan);
        check_states(row, plan);
        structure_checked = true;
      }
      check_capacity(result, plan);
      ++plans;
    }
    CHECK(structure_checked);
  }
  CHECK(rows == 128);
  CHECK(plans > 1400);
}
