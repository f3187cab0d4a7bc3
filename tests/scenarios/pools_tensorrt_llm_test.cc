// What TensorRT-LLM makes of shipped models, scenario by scenario, in every field that its own text gave.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "planner/group_engine.h"
#include "planner/plan.h"
#include "scenario_text.h"
#include "test_paths.h"

namespace hybridkv::test {

namespace {

using nlohmann::json;

std::int64_t number(const json& row, const char* key) { return row.at(key).get<std::int64_t>(); }

void set(std::string& engine, const char* key, const std::string& value) {
  engine += fmt::format(", {}: {}", key, value);
}

void set_list(std::string& engine, const char* key, const json& list) {
  if (!list.empty()) set(engine, key, list.dump());
}

/// The record as a scenario, for one of the two managers.
std::string scenario_of(const json& row, bool first_manager) {
  std::string engine = fmt::format("release: tensorrt-llm, memory: {}", number(row, "memory_bytes"));
  set(engine, "tensor_parallel", row.at("tp").dump());
  set(engine, "periodic_snapshot_interval", row.at("interval").dump());
  for (const char* key : {"tokens_per_block", "max_batch_size"}) set(engine, key, row.at(key).dump());
  if (!row.at("avg_seq_len").is_null()) set(engine, "avg_seq_len", row.at("avg_seq_len").dump());
  if (!row.at("block_reuse").get<bool>()) set(engine, "cache_mode", "none");
  if (number(row, "kv_bytes") == 1) set(engine, "kv_dtype", "fp8_e4m3");
  set(engine, "ssm_dtype", number(row, "ssm_bytes") == 2 ? "bf16" : "fp32");
  if (first_manager) {
    set(engine, "use_kv_cache_manager_v2", "false");
  } else {
    set_list(engine, "additional_snapshot_offsets_from_start", row.at("from_start"));
    set_list(engine, "additional_snapshot_offsets_from_end", row.at("from_end"));
    if (!row.at("pool_ratio").is_null()) set(engine, "pool_ratio", row.at("pool_ratio").dump());
  }
  return fmt::format("model: {}\nengine: {{{}}}\nlimits: {{max_model_len: {}}}\n", row.at("model").get<std::string>(),
                     engine, number(row, "max_seq_len"));
}

std::vector<std::int64_t> group_shape_of(const StateTensor& tensor) {
  std::vector<std::int64_t> shape;
  for (const Axis& axis : tensor.layout.axes()) shape.push_back(axis.extent);
  return shape;
}

/// Shapes and bytes of one rank, which the split is then made of.
void check_bytes(const json& row, const CachePlan& plan) {
  std::int64_t attention = 0;
  for (const SpecPlan& spec : plan.specs) {
    if (!spec.state) {
      attention += std::ssize(spec.layers);
      continue;
    }
    CHECK(std::ssize(spec.layers) == number(row, "state_layers"));
    const std::vector<StateTensor>& tensors = spec.state->tensors;
    CHECK(json(group_shape_of(tensors[0])) == row.at("conv_shape"));
    CHECK(json(group_shape_of(tensors[1])) == row.at("ssm_shape"));
    CHECK(tensors[0].bytes() == number(row, "conv_bytes_per_layer"));
    CHECK(tensors[1].bytes() == number(row, "ssm_bytes_per_layer"));
  }
  CHECK(attention == number(row, "attention_layers"));
  CHECK(plan.arenas[0].bytes_per_id == number(row, "block_bytes"));
  CHECK(plan.arenas[0].bytes_per_id / number(row, "tokens_per_block") == number(row, "cell_bytes_per_token"));
  CHECK(plan.arenas[1].bytes_per_id == number(row, "state_bytes"));
}

void check_split(const json& row, const CachePlan& plan, std::int64_t memory) {
  const PoolGroups& groups = plan.pool_groups.value();
  CHECK(groups.dummy_requests == number(row, "dummies"));
  CHECK(groups.grain_bytes == number(row, "grain_bytes"));
  CHECK(groups.grains == number(row, "quota_grains"));
  CHECK(groups.estimate_bytes == number(row, "v2_intercept"));
  CHECK(groups.estimate_token_bytes == number(row, "v2_slope"));
  CHECK(plan.arenas[1].num_ids == number(row, "state_slots"));
  CHECK(plan.arenas[0].num_ids == number(row, "blocks"));
  CHECK(plan.pool_bytes() == number(row, "used_bytes"));
  CHECK(plan.capacity.front().kv_cache_tokens == number(row, "tokens"));
  CHECK(plan.memory_bytes() == memory);
  CHECK(plan.waste.unallocated_bytes >= 0);
}

CachePlan plan_of(const Scenario& scenario) {
  return make_plan(scenario.model, scenario.engine, scenario.limits);
}

void check_second_manager(const json& row) {
  const Scenario scenario = read_text_as_scenario(scenario_of(row, false));
  if (row.contains("error")) {
    const std::string message = error_of([&] { plan_of(scenario); });
    CHECK(message.find("engine.memory") != std::string::npos);
    CHECK(message.find(fmt::format("{} bytes at least", number(row, "least_bytes"))) != std::string::npos);
    return;
  }
  const CachePlan plan = plan_of(scenario);
  check_bytes(row, plan);
  check_split(row, plan, scenario.engine.memory_bytes);
}

void check_first_manager(const json& row) {
  const Scenario scenario = read_text_as_scenario(scenario_of(row, true));
  if (number(row, "v1_blocks") == 0) {
    CHECK(error_of([&] { plan_of(scenario); }).find("engine.memory") != std::string::npos);
    return;
  }
  const CachePlan plan = plan_of(scenario);
  CHECK(plan.arenas[0].num_ids == number(row, "v1_blocks"));
  CHECK(plan.arenas[1].num_ids == number(row, "v1_state_slots"));
  const GroupQuota quota = group_quota(plan, scenario.model, scenario.engine, scenario.limits);
  CHECK(first_manager_tokens(quota) == number(row, "v1_tokens"));
}

/// The cases of the folder named by the environment, else those that lie with the tests.
std::string group_records_path() {
  const char* folder = std::getenv("HYBRIDKV_CASES_DIR");
  return (folder ? std::string(folder) : std::string(HYBRIDKV_TEST_DATA)) + "/tensorrt-llm/pools.jsonl";
}

}  // namespace

TEST_CASE("golden: shapes, splits and refusals of 168 scenarios of TensorRT-LLM, under both managers") {
  std::ifstream file(group_records_path());
  REQUIRE(file.is_open());
  std::size_t rows = 0;
  for (std::string line; std::getline(file, line); ++rows) {
    CAPTURE(line);
    const json row = json::parse(line);
    check_second_manager(row);
    check_first_manager(row);
  }
  CHECK(rows >= 168);
}

}  // namespace hybridkv::test
