// What SGLang 0.5.23 makes of shipped models, scenario by scenario, in every field that its own classes gave.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "planner/plan.h"
#include "scenario_text.h"
#include "test_paths.h"

namespace hybridkv::test {

namespace {

using nlohmann::json;

void add(std::string& engine, const char* key, const json& value) {
  if (!value.is_null())
    engine += fmt::format(", {}: {}", key, value.is_string() ? value.get<std::string>() : value.dump());
}

/// The record as a scenario.
std::string scenario_of(const json& row) {
  std::string engine = fmt::format("release: sglang-0.5.23, memory: {}",
                                   static_cast<std::int64_t>(row.at("mem_gib").get<double>() * 0x1p30));
  add(engine, "tensor_parallel", row.at("tp"));
  add(engine, "attention_data_parallel", row.at("attn_dp"));
  add(engine, "page_size", row.at("page_size"));
  if (row.at("kv_dtype") != "bf16") add(engine, "kv_dtype", "fp8_e4m3");
  if (!row.at("radix").get<bool>()) add(engine, "cache_mode", "none");
  add(engine, "mamba_radix_cache_strategy", row.at("strategy"));
  add(engine, "overlap_schedule", row.at("overlap"));
  add(engine, "state_memory_ratio", row.at("mamba_full_memory_ratio"));
  for (const char* key : {"max_mamba_cache_size", "max_running_requests", "max_total_tokens"})
    add(engine, key, row.at(key));
  add(engine, "ssm_dtype", row.at("ssm_env"));
  add(engine, "conv_dtype", row.at("conv_env"));
  if (!row.at("spec").is_null()) add(engine, "speculative_tokens", row.at("draft_tokens"));
  if (row.at("spec") == "EAGLE" || row.at("spec") == "MTP") add(engine, "mtp_layers", 1);
  if (row.at("replayssm_spec").get<bool>()) add(engine, "linear_replayssm_spec", true);
  if (row.at("unified_memory").get<bool>()) add(engine, "unified_memory", true);
  if (row.at("skip_decode_lock").get<bool>()) add(engine, "skip_decode_lock", true);
  return fmt::format("model: {}\nengine: {{{}}}\nlimits: {{max_model_len: 262144}}\n",
                     row.at("model").get<std::string>(), engine);
}

std::vector<std::int64_t> shape_of(const StateTensor& tensor) {
  std::vector<std::int64_t> shape;
  for (const Axis& axis : tensor.layout.axes()) shape.push_back(axis.extent);
  return shape;
}

/// A short convolution has a recurrent tensor without elements, one head of all channels.
std::vector<std::int64_t> ssm_shape_of(const SpecPlan& spec, const ModelSpec& model) {
  if (spec.state->tensors.size() == 2) return shape_of(spec.state->tensors[1]);
  const auto& layer = *model.layers[static_cast<std::size_t>(spec.layers.front())].recurrent;
  return {1, std::get<ShortConvSpec>(layer).channels, 0};
}

void check_row(const json& row, const ModelSpec& model, const CachePlan& plan) {
  std::int64_t attention = 0;
  const SpecPlan* state = nullptr;
  for (const SpecPlan& spec : plan.specs) {
    if (spec.state) {
      REQUIRE(state == nullptr);
      state = &spec;
      continue;
    }
    for (const std::int64_t layer : spec.layers)
      if (layer < std::ssize(model.layers)) ++attention;  // a draft's goes on counting
  }
  REQUIRE(state != nullptr);
  CHECK(attention == row.at("attention_layers").get<std::int64_t>());
  CHECK(std::ssize(state->layers) == row.at("state_layers").get<std::int64_t>());
  CHECK(json::array({shape_of(state->state->tensors[0])}) == row.at("conv_shape"));
  CHECK(json(ssm_shape_of(*state, model)) == row.at("ssm_shape"));
  CHECK(state->state->tensors[0].dtype == parse_dtype(row.at("conv_dtype").get<std::string>()));
  if (state->state->tensors.size() == 2)
    CHECK(state->state->tensors[1].dtype == parse_dtype(row.at("ssm_dtype").get<std::string>()));
  const TreePools& tree_pools = plan.tree_pools.value();
  CHECK(tree_pools.state_slot_bytes == row.at("slot_bytes").get<std::int64_t>());
  CHECK(tree_pools.token_bytes == row.at("cell_bytes_per_token").get<std::int64_t>());
  CHECK(tree_pools.split.state_slots_per_request == row.at("slots_per_request").get<std::int64_t>());
  CHECK(tree_pools.split.state_slots == row.at("state_slots").get<std::int64_t>());
  CHECK(tree_pools.split.token_slots == row.at("token_slots").get<std::int64_t>());
  CHECK(tree_pools.split.max_running == row.at("max_running").get<std::int64_t>());
  CHECK(tree_pools.unified.has_value() == !row.at("unified_total_bytes").is_null());
  if (tree_pools.unified)
    CHECK(tree_pools.unified->token_part_bytes == row.at("unified_total_bytes").get<std::int64_t>());
}

/// What the pools of a plan have, whatever it was asked.
void check_pools(const CachePlan& plan, std::int64_t memory) {
  const TokenStateSplit& split = plan.tree_pools->split;
  CHECK(plan.memory_bytes() == memory);
  CHECK(plan.waste.unallocated_bytes >= 0);
  CHECK(plan.capacity.front().kv_cache_tokens == split.token_slots);
  CHECK(plan.capacity.front().ids_by_cause.states == split.state_slots_per_request);
  REQUIRE(plan.arenas.size() == 2);
  CHECK(plan.arenas[0].num_ids == split.token_slots / plan.tree_pools->page_tokens + 1);
  CHECK(plan.arenas[0].bytes_per_id == plan.tree_pools->page_tokens * plan.tree_pools->token_bytes);
  CHECK(plan.arenas[1].num_ids == split.state_slots + 1);
  CHECK(plan.arenas[1].bytes_per_id == plan.tree_pools->state_slot_bytes);
}

/// The cases of the folder named by the environment, else those that lie with the tests.
std::string records_path() {
  const char* folder = std::getenv("HYBRIDKV_CASES_DIR");
  return folder ? std::string(folder) + "/sglang-0.5.23/pools.jsonl"
                : std::string(HYBRIDKV_TEST_DATA "/planner/pools_sglang_0_5_23.jsonl");
}

}  // namespace

TEST_CASE("golden: shapes, slots and refusals of 125 scenarios of SGLang 0.5.23") {
  std::ifstream file(records_path());
  REQUIRE(file.is_open());
  std::size_t rows = 0;
  for (std::string line; std::getline(file, line); ++rows) {
    CAPTURE(line);
    const json row = json::parse(line);
    const std::string text = scenario_of(row);
    CAPTURE(text);
    const auto planned = [&] {
      const Scenario scenario = read_text_as_scenario(text);
      const CachePlan plan = make_plan(scenario.model, scenario.engine, scenario.limits);
      if (!row.contains("error")) check_row(row, scenario.model, plan);
      if (!row.contains("error")) check_pools(plan, scenario.engine.memory_bytes);
    };
    if (row.contains("error"))
      CHECK_THROWS_AS(planned(), InputError);
    else
      planned();
  }
  CHECK(rows >= 125);
}

TEST_CASE("edge: heads that ranks do not share are counted as the engine counts them, with a warning") {
  // 20 query heads on 4 KV heads and 2 groups of B and C: each of eight ranks has a KV head, and there are 8 groups.
  const Scenario scenario = read_text_as_scenario(
      "model: Falcon-H1-34B\nengine: {release: sglang-0.5.23, memory: 40 GiB, tensor_parallel: 8}\n"
      "limits: {max_model_len: 2048}\n");
  const CachePlan plan = make_plan(scenario.model, scenario.engine, scenario.limits);
  CHECK(plan.tree_pools->token_bytes == 72 * 1 * 2 * 128 * 2);
  CHECK(plan.tree_pools->state_slot_bytes == 72 * (3 * (32 * 128 + 2 * 8 * 256) / 8 * 2 + 4 * 128 * 256 * 4));
  REQUIRE(!plan.warnings.empty());
  CHECK(plan.warnings.back().code == "heads_not_shared");
  CHECK(error_of([] {
          const Scenario unequal = read_text_as_scenario(
              "model: Falcon-H1-34B\nengine: {release: sglang-0.5.23, memory: 40 GiB, tensor_parallel: 3}\n"
              "limits: {max_model_len: 2048}\n");
          make_plan(unequal.model, unequal.engine, unequal.limits);
        }).find("engine.tensor_parallel") != std::string::npos);  // 32 heads of states
}

TEST_CASE("edge: flags of one engine are refused of another, with the key and a way out") {
  for (const char* line : {"mamba_radix_cache_strategy: auto", "overlap_schedule: true", "skip_decode_lock: false",
                           "page_size: 1", "mamba_track_interval: 256", "max_mamba_cache_size: 300",
                           "max_running_requests: 64", "max_total_tokens: 100000", "attention_data_parallel: 2",
                           "unified_memory: false", "linear_replayssm_spec: false"}) {
    CAPTURE(line);
    const auto plan = [](const std::string& text) {
      const Scenario scenario = read_text_as_scenario(text);
      make_plan(scenario.model, scenario.engine, scenario.limits);
    };
    const std::string key = std::string(line).substr(0, std::string(line).find(':'));
    const std::string message = error_of([&] { plan(engine_text(line)); });
    CHECK(message.find("engine." + key) != std::string::npos);
    CHECK(message.find("sglang-0.5.23") != std::string::npos);
    CHECK(error_of([&] { plan(engine_text(std::string(line) + "\n  release: sglang-0.5.23")); }) == "no error");
  }
  for (const char* line : {"strategy: small_pages", "attention_pack_size: 2", "block_size_tokens: 32",
                           "mamba_block_size_tokens: 64", "kernel_alignment_tokens: 16", "kernel_block_sizes: [16]",
                           "page_alignment_bytes: 512", "backend_profile: sm90", "concurrent_batches: 2",
                           "state_requests: 5", "num_blocks: 500", "kv_dtype: nvfp4", "hidden_state_size: 64",
                           "token_rule: floor", "cache_mode: all", "pipeline_parallel: 2",
                           "mamba_radix_cache_strategy: no_buffer\n  page_size: 16",
                           "page_size: 512", "linear_replayssm_spec: true",
                           "speculative_tokens: 17\n  max_running_requests: 4\n  linear_replayssm_spec: true"}) {
    CAPTURE(line);
    const std::string message = error_of([&] {
      const Scenario scenario = read_text_as_scenario(engine_text(std::string(line) + "\n  release: sglang-0.5.23"));
      make_plan(scenario.model, scenario.engine, scenario.limits);
    });
    CHECK(message != "no error");
    CHECK(message.find("engine.") != std::string::npos);
  }
}

TEST_CASE("edge: models that SGLang 0.5.23 does not run, or of which only reading tells, are refused") {
  for (const char* model : {"Jamba-1.5-mini", "Zamba2-7B", "MiniMax-Text-01", "plamo-2-1b", "gpt-oss-20b",
                            "Qwen3.8-Flash-Next"}) {
    CAPTURE(model);
    const std::string message = error_of([&] {
      const Scenario scenario = read_text_as_scenario(
          fmt::format("model: {}\nengine: {{release: sglang-0.5.23, memory: 40 GiB}}\n"
                      "limits: {{max_model_len: 2048}}\n", model));
      make_plan(scenario.model, scenario.engine, scenario.limits);
    });
    CHECK(message.find("engine.release") != std::string::npos);
  }
}

}  // namespace hybridkv::test
