// Full planning results of vLLM 0.33.0's own functions: blocks, groups, tensors, ids, refusals.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "planner/allocated_tensors.h"
#include "planner/block_size.h"
#include "planner/plan.h"
#include "tests/planner/models.h"
#include "tests/planner/records_vllm_0_33.h"

using namespace hybridkv;
using testing::engine_of_0_33, testing::records_of_0_33, testing::tables_of;
using nlohmann::json;

namespace {

/// What the layers of a model cache, without their order.
struct Kinds {
  AttentionSpec attention;
  RecurrentSpec recurrent;
  std::int64_t window = 0;
};

Kinds kinds_of(const std::string& model) {
  using testing::full_attention, testing::latent_attention, testing::qwen_gdn;
  const auto mamba2 = [](std::int64_t heads, std::int64_t head_dim, std::int64_t state, std::int64_t groups) {
    return Mamba2Spec{.heads = heads, .head_dim = head_dim, .state_size = state, .groups = groups};
  };
  const std::map<std::string, Kinds> kinds = {
      {"Qwen3-Next-80B-A3B", {full_attention(2, 256), qwen_gdn(16, 32)}},
      {"Qwen3.5-0.8B", {full_attention(2, 256), qwen_gdn(16, 16)}},
      {"Qwen3.5-9B", {full_attention(4, 256), qwen_gdn(16, 32)}},
      {"Qwen3.5-27B", {full_attention(4, 256), qwen_gdn(16, 48)}},
      {"Qwen3.5-35B-A3B", {full_attention(2, 256), qwen_gdn(16, 32)}},
      {"Qwen3.5-122B-A10B", {full_attention(2, 256), qwen_gdn(16, 64)}},
      {"Qwen3.5-397B-A17B", {full_attention(2, 256), qwen_gdn(16, 64)}},
      {"Nemotron-3-Nano-30B-A3B", {full_attention(2, 128), mamba2(64, 64, 128, 8)}},
      {"Nemotron-3-Nano-4B", {full_attention(8, 128), mamba2(96, 80, 128, 8)}},
      {"Nemotron-3-Super-120B-A12B", {full_attention(2, 128), mamba2(128, 64, 128, 8)}},
      {"Nemotron-3-Ultra-550B-A55B", {full_attention(2, 128), mamba2(256, 64, 128, 8)}},
      {"Nemotron-Nano-9B-v2", {full_attention(8, 128), mamba2(128, 80, 128, 8)}},
      {"granite-4.0-h-small", {full_attention(8, 128), mamba2(128, 64, 128, 1)}},
      {"granite-4.0-h-1b", {full_attention(4, 128), mamba2(48, 64, 128, 1)}},
      {"Falcon-H1-3B", {full_attention(2, 128), mamba2(32, 128, 256, 1)}},
      {"LFM2.5-1.2B", {full_attention(8, 64), ShortConvSpec{.channels = 2048, .conv_kernel = 3}}},
      {"Kimi-Linear-48B-A3B", {latent_attention(512, 64), KdaSpec{.heads = 32, .head_dim = 128}}},
      {"Kimi-K3", {latent_attention(512, 64), KdaSpec{.heads = 96, .head_dim = 128}}},
      {"gpt-oss-20b", {full_attention(8, 64), {}, 128}},
      {"gemma-3-27b", {full_attention(16, 128), {}, 1024}},
      {"Llama-3.1-8B", {full_attention(8, 128), {}}},
  };
  return kinds.at(model);
}

/// The order of a model's layers, from the groups of any plan of it that keeps windows and drafts apart.
std::map<std::string, ModelSpec> models_of(const std::vector<json>& rows) {
  std::map<std::string, ModelSpec> models;
  for (const json& row : rows) {
    const std::string name = row["model"];
    if (models.contains(name) || row["variant"] != "base" || !row.contains("groups")) continue;
    ModelSpec model;
    model.name = name;
    model.kda_exports_states = name == "Kimi-K3";
    const Kinds kinds = kinds_of(name);
    for (const json& group : row["groups"])
      for (const std::int64_t layer : group["layers"]) {
        model.layers.resize(std::max<std::size_t>(model.layers.size(), layer + 1));
        LayerSpec& spec = model.layers[layer];
        if (group["kind"] == "MambaSpec") {
          spec.recurrent = kinds.recurrent;
        } else {
          spec.attention = kinds.attention;
          if (group["kind"] == "SlidingWindowSpec") {
            spec.attention->kind = AttentionKind::sliding_window;
            spec.attention->window_tokens = kinds.window;
          }
        }
      }
    models.emplace(name, model);
  }
  return models;
}

void check_groups(const json& row, const CachePlan& plan) {
  const auto tables = tables_of(plan);
  REQUIRE(tables.size() == row["groups"].size());
  for (std::size_t i = 0; i < tables.size(); ++i) {
    CAPTURE(i);
    const json& group = row["groups"][i];
    std::set<std::int64_t> layers;
    std::int64_t bytes = 0;
    for (const GroupPlan* part : tables[i])
      for (const std::int64_t layer : part->layers()) layers.insert(layer), bytes += plan.page_bytes(*part);
    const SpecPlan& spec = plan.spec_of(*tables[i].front());
    const bool several = group["kind"].get<std::string>().starts_with("UniformType");
    if (!row["results"][0].contains("ranks")) {
      CHECK(layers == group["layers"].get<std::set<std::int64_t>>());
      CHECK((several ? bytes : plan.page_bytes(*tables[i].front())) == group["page_size_bytes"].get<std::int64_t>());
    }
    // A state of mode none spans its whole request; the record has the first of its lengths.
    const bool whole = spec.state && plan.cache_mode == CacheMode::none;
    CHECK((whole ? row["results"][0]["max_model_len"].get<std::int64_t>() : spec.block_size_tokens) ==
          group["block_size"].get<std::int64_t>());
    if (!spec.state) continue;
    CHECK(spec.state->bytes == group["raw_bytes"].get<std::int64_t>());
    if (plan.cache_mode == CacheMode::align)
      CHECK(spec.checkpoint_blocks == group["checkpoint_blocks"].get<std::int64_t>());
  }
}

void check_kernel_blocks(const json& row, const CachePlan& plan) {
  if (!row.contains("kernel_block_sizes")) return;
  const json& sizes = row["kernel_block_sizes"];
  std::map<std::string, std::set<std::int64_t>> found;  // an engine prints one of each kind, its last
  for (const SpecPlan& spec : plan.specs) {
    if (!spec.attention) continue;
    const bool window = spec.attention->window_tokens > 0;
    found[window ? "SlidingWindowSpec" : spec.attention->kind == AttentionKind::mla ? "MLAAttentionSpec"
                                                                                    : "FullAttentionSpec"]
        .insert(spec.kernel_block_size_tokens);
  }
  for (const auto& [kind, size] : sizes.items()) CHECK(found[kind].contains(size.get<std::int64_t>()));
}

void check_tensors(const json& tensors, const CachePlan& plan) {
  std::set<std::vector<std::int64_t>> expected, found;
  for (const json& tensor : tensors) expected.insert(tensor.get<std::vector<std::int64_t>>());
  for (const AllocatedTensor& tensor : allocated_tensors(plan))
    found.insert({tensor.layers.front(), std::ssize(tensor.layers), tensor.layer_stride, tensor.block_stride,
                  tensor.offset_bytes});
  CHECK(found == expected);
}

void check_result(const json& result, const CachePlan& plan) {
  const CapacityPlan& capacity = plan.capacity.front();
  CHECK(plan.num_blocks() == result["num_blocks"].get<std::int64_t>());
  CHECK(plan.pool_bytes() == result["tensor_bytes"].get<std::int64_t>());
  CHECK(capacity.blocks_per_request == result["request_blocks"].get<std::int64_t>());
  CHECK(capacity.max_concurrency == result["max_concurrency"].get<double>());
  CHECK(capacity.kv_cache_tokens == result["capacity_tokens"].get<std::int64_t>());
  check_tensors(result["tensors"], plan);
}

}  // namespace

TEST_CASE("golden: blocks, groups, tensors, ids and refusals of 333 configurations of vLLM 0.33") {
  const std::vector<json> rows = records_of_0_33();
  const std::map<std::string, ModelSpec> models = models_of(rows);
  std::size_t records = 0, plans = 0, refusals = 0;
  for (const json& row : rows) {
    if (!models.contains(row["model"])) continue;  // packed models have a test of their own
    ++records;
    CAPTURE(row["variant"].get<std::string>());
    CAPTURE(row["model"].get<std::string>());
    CAPTURE(row["tp"].get<int>());
    CAPTURE(row["mamba_cache_mode"].get<std::string>());
    CAPTURE(row["backend"].get<std::string>());
    CAPTURE(row["layout_requested"].dump());
    CAPTURE(row.value("draft", json()).dump());
    const ModelSpec& model = models.at(row["model"]);
    if (row.contains("error")) {
      CHECK_THROWS_AS(make_plan(model, engine_of_0_33(row, 10), {.max_model_lens = {8192}}), SpecError);
      ++refusals;
      continue;
    }
    for (const json& result : row["results"]) {
      CAPTURE(result["max_model_len"].get<int>());
      EngineSpec engine = engine_of_0_33(row, result["mem_gib"]);
      const LimitsSpec limits{.max_model_lens = {result["max_model_len"]}};
      if (result.contains("error")) {
        CHECK_THROWS_AS(make_plan(model, engine, limits), SpecError);
        ++refusals;
        continue;
      }
      if (result.contains("ranks")) {
        engine.pipeline_parallel = std::ssize(result["ranks"]);
        const std::int64_t layers = std::ssize(model.layers);
        std::int64_t first = layers;
        for (const json& tensor : result["ranks"][1]["tensors"]) first = std::min(first, tensor[0].get<std::int64_t>());
        engine.pipeline_layers = {first, layers - first};
        for (std::size_t rank = 0; rank < result["ranks"].size(); ++rank) {
          engine.pipeline_rank = static_cast<std::int64_t>(rank);
          const CachePlan plan = make_plan(model, engine, limits);
          CHECK(plan.pool_bytes() == result["ranks"][rank]["size"].get<std::int64_t>());
          check_tensors(result["ranks"][rank]["tensors"], plan);
        }
        engine.pipeline_rank = 0;
      }
      const CachePlan plan = make_plan(model, engine, limits);
      if (!result.contains("ranks"))
        CHECK(plan.arenas.front().bytes_per_id == row["bytes_per_block"].get<std::int64_t>());
      check_groups(row, plan);
      CHECK(plan.view_error.empty() == !row.contains("view_error"));
      CHECK(plan.prefix.match_error.empty() == !row.contains("match_error"));
      // A state of mode none spans its whole request; the record has the units of the first of its lengths.
      const bool is_first = &result == &row["results"].front();
      if (row.contains("hash_block_size") && (plan.cache_mode != CacheMode::none || is_first)) {
        CHECK(plan.prefix.scheduler_block_tokens == row["scheduler_block_size"].get<std::int64_t>());
        CHECK(plan.prefix.hash_block_tokens == row["hash_block_size"].get<std::int64_t>());
        CHECK(plan.prefix.match_unit_tokens == row["cache_hit_alignment_tokens"].get<std::int64_t>());
      }
      check_kernel_blocks(row, plan);
      if (!result.contains("ranks"))
        check_result(result, plan);
      else
        CHECK(plan.capacity.front().max_concurrency == result["max_concurrency"].get<double>());
      CHECK(to_string(*plan.cache_order) == row["layout"].get<std::string>());
      ++plans;
    }
  }
  CHECK(records == 333);
  CHECK(plans > 2500);
  CHECK(refusals > 50);
}
