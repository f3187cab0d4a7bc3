// Models whose attention has indexers and rings beside it, as vLLM 0.33.0's own functions plan them.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "engines/vllm/rules.h"
#include "planner/allocated_tensors.h"
#include "planner/demand.h"
#include "planner/plan.h"
#include "tests/planner/arrangement_laws.h"
#include "tests/planner/models.h"
#include "tests/planner/records_vllm_0_33.h"

using namespace hybridkv;
using nlohmann::json;
using testing::engine_of_0_33, testing::records_of_0_33, testing::tables_of;

namespace {

using Numbers = std::vector<std::int64_t>;

/// A convolution of 8,192 channels by 9 rows, as the records assume: whole on every rank, and without rows of drafts.
ModelSpec flash_next() {
  ModelSpec model = testing::qwen38_flash_next();
  model.auxiliary = {ShortConvSpec{.channels = 8192, .conv_kernel = 10, .replicated = true}};
  model.ring_tokens = 4;
  model.ring_bytes_per_token = 280;
  model.cache_orders = {CacheOrder::blnhc, CacheOrder::blhnc};
  return model;
}

ModelSpec packed_glm_flash() {
  ModelSpec model = testing::glm_flash();
  model.kda_exports_states = true;
  model.ring_tokens = 4;
  model.ring_bytes_per_token = 512;
  model.cache_orders = {CacheOrder::blhnc};
  return model;
}

ModelSpec packed_model(const json& row) {
  return row["model"] == "GLM-5.3-Flash" ? packed_glm_flash() : flash_next();
}

bool is_packed_model(const json& row) {
  return row["model"] == "GLM-5.3-Flash" || row["model"] == "Qwen3.8-Flash-Next";
}

/// The number in "3.indexer.k_cache"; -1 of a layer beside the pattern.
std::int64_t number_of(const json& layer) {
  if (layer.is_number()) return layer;
  const std::string name = layer;
  return name.find("short_conv") == std::string::npos ? std::stoll(name) : -1;
}

/// All that a record says of a group, -1 for the number of a layer beside the pattern.
struct Group {
  Numbers layers;  ///< sorted
  Numbers pages;   ///< of its layers, sorted
  std::int64_t bytes = 0;
  std::int64_t block = 0;
  std::int64_t state_bytes = 0;
  std::int64_t checkpoints = 0;
  auto operator<=>(const Group&) const = default;
};

std::vector<Group> groups_of(const json& row) {
  std::vector<Group> groups;
  for (const json& group : row["groups"]) {
    Group& one = groups.emplace_back();
    for (const json& layer : group["layers"]) one.layers.push_back(number_of(layer));
    one.pages = group["layer_page_size_bytes"].get<Numbers>();
    std::sort(one.layers.begin(), one.layers.end());
    std::sort(one.pages.begin(), one.pages.end());
    one.bytes = group["page_size_bytes"];
    one.block = group["block_size"];
    one.state_bytes = group.value("raw_bytes", 0);
    one.checkpoints = row["mamba_cache_mode"] == "align" ? group.value("checkpoint_blocks", 0) : 0;
  }
  std::sort(groups.begin(), groups.end());
  return groups;
}

std::vector<Group> groups_of(const CachePlan& plan) {
  std::vector<Group> groups;
  for (const auto& table : tables_of(plan)) {
    Group& one = groups.emplace_back();
    for (const GroupPlan* part : table)
      for (const std::int64_t layer : part->layers()) {
        const SpecPlan& spec = plan.spec_of(*part);
        one.layers.push_back(spec.kind == "short_conv" ? -1 : layer);
        one.pages.push_back(plan.page_bytes(*part));
        one.bytes += one.pages.back();
      }
    std::sort(one.layers.begin(), one.layers.end());
    std::sort(one.pages.begin(), one.pages.end());
    const SpecPlan& spec = plan.spec_of(*table.front());
    one.block = spec.block_size_tokens;
    one.state_bytes = spec.state && spec.ring_tokens == 0 ? spec.state->bytes : 0;
    one.checkpoints = spec.checkpoint_blocks;
  }
  std::sort(groups.begin(), groups.end());
  return groups;
}

/// (first layer, layers, layer stride, block stride, offset), sorted.
std::vector<Numbers> tensors_of(const json& tensors) {
  std::vector<Numbers> all;
  for (const json& tensor : tensors) all.push_back({number_of(tensor[0]), tensor[1], tensor[2], tensor[3], tensor[4]});
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<Numbers> tensors_of(const CachePlan& plan) {
  std::vector<Numbers> all;
  for (const AllocatedTensor& tensor : allocated_tensors(plan))
    all.push_back({tensor.layers.front() >= 45 && tensor.layers.size() == 1 ? -1 : tensor.layers.front(),
                   std::ssize(tensor.layers), tensor.layer_stride, tensor.block_stride, tensor.offset_bytes});
  std::sort(all.begin(), all.end());
  return all;
}

/// The records of GLM assume the flash kernel of kda, which exports states.
EngineSpec packed_engine(const json& row, double memory_gib) {
  EngineSpec engine = engine_of_0_33(row, memory_gib);
  if (row["model"] == "GLM-5.3-Flash" && engine.cache_mode == CacheMode::align) engine.checkpoint_blocks = 1;
  return engine;
}

EngineSpec engine_in(CacheOrder order) {
  EngineSpec engine{.rules = &rules_of_vllm_0_33, .cache_mode = CacheMode::align};
  engine.cache_order = order;
  engine.memory_bytes = 10 * testing::gib;
  return engine;
}

}  // namespace

TEST_CASE("golden: indexers, rings and a convolution of their own, all results of vLLM 0.33 for packed models") {
  int records = 0, plans = 0;
  for (const json& row : records_of_0_33()) {
    if (!is_packed_model(row)) continue;
    ++records;
    CAPTURE(row["model"].get<std::string>());
    CAPTURE(row["tp"].get<int>());
    CAPTURE(row["kv_dtype"].get<std::string>());
    CAPTURE(row["mamba_cache_mode"].get<std::string>());
    CAPTURE(row["speculative_tokens"].get<int>());
    if (row.contains("error")) {
      CHECK_THROWS_AS(make_plan(packed_model(row), packed_engine(row, 10), {.max_model_lens = {8192}}), SpecError);
      continue;
    }
    const auto wanted = groups_of(row);
    for (const json& result : row["results"]) {
      const EngineSpec engine = packed_engine(row, result["mem_gib"]);
      const LimitsSpec limits{.max_model_lens = {result["max_model_len"]}};
      if (result.contains("error")) {
        CHECK_THROWS_AS(make_plan(packed_model(row), engine, limits), SpecError);
        continue;
      }
      const CachePlan plan = make_plan(packed_model(row), engine, limits);
      const CapacityPlan& capacity = plan.capacity.front();
      const bool first = result["max_model_len"] == row["results"][0]["max_model_len"];
      // A state of mode none spans its whole request; the record has the first of its lengths.
      if (plan.cache_mode == CacheMode::align || first) {
        CHECK((groups_of(plan) == wanted));
        CHECK(plan.prefix.scheduler_block_tokens == row["scheduler_block_size"].get<std::int64_t>());
        CHECK(plan.prefix.hash_block_tokens == row["hash_block_size"].get<std::int64_t>());
        CHECK(plan.prefix.match_unit_tokens == row["cache_hit_alignment_tokens"].get<std::int64_t>());
      }
      CHECK(tensors_of(plan) == tensors_of(result["tensors"]));
      CHECK(plan.arenas.front().bytes_per_id == row["bytes_per_block"].get<std::int64_t>());
      CHECK(plan.num_blocks() == result["num_blocks"].get<std::int64_t>());
      CHECK(plan.pool_bytes() == result["tensor_bytes"].get<std::int64_t>());
      CHECK(capacity.blocks_per_request == result["request_blocks"].get<std::int64_t>());
      CHECK(capacity.ids_by_cause.other == 1);
      CHECK(capacity.max_concurrency == result["max_concurrency"].get<double>());
      CHECK(capacity.kv_cache_tokens == result["capacity_tokens"].get<std::int64_t>());
      CHECK(to_string(*plan.cache_order) == row["layout"].get<std::string>());
      CHECK(plan.view_error.empty());
      ++plans;
    }
  }
  CHECK(records == 18);
  CHECK(plans > 60);
}

TEST_CASE("law: packed models keep the laws of arrangements") {
  for (const std::int64_t drafts : {0, 1, 3}) {
    EngineSpec engine = engine_in(CacheOrder::blhnc);
    engine.speculative_tokens = drafts;
    CHECK(testing::broken_law(make_plan(flash_next(), engine, {.max_model_lens = {8192}})) == "");
    CHECK(testing::broken_law(make_plan(packed_glm_flash(), engine, {.max_model_lens = {8192}})) == "");
  }
}

TEST_CASE("edge: orders that the model's attention does not read are refused, and named") {
  CHECK_THROWS_WITH_AS(make_plan(flash_next(), engine_in(CacheOrder::lbnhc), {.max_model_lens = {8192}}),
                       "engine.physical_order: LBNHC is no order for these layers and their backends; valid: BLNHC, "
                       "BLHNC",
                       SpecError);
  CHECK_THROWS_WITH_AS(make_plan(packed_glm_flash(), engine_in(CacheOrder::blnhc), {.max_model_lens = {8192}}),
                       "engine.physical_order: BLNHC is no order for these layers and their backends; valid: BLHNC",
                       SpecError);
  EngineSpec engine = engine_in(CacheOrder::blnhc);
  engine.cache_order.reset();
  CHECK(make_plan(flash_next(), engine, {.max_model_lens = {8192}}).cache_order == CacheOrder::blnhc);
  CHECK(make_plan(packed_glm_flash(), engine, {.max_model_lens = {8192}}).cache_order == CacheOrder::blhnc);
  engine.backend_profile = BackendProfile::cpu;
  CHECK_THROWS_WITH_AS(make_plan(packed_glm_flash(), engine, {.max_model_lens = {8192}}),
                       doctest::Contains("the model's attention reads BLHNC, the profile's LBHNC"), SpecError);
}

TEST_CASE("edge: rules before one allocation keep the indexer beside the page and the ring as an id") {
  EngineSpec engine{.cache_mode = CacheMode::align};
  engine.memory_bytes = 10 * testing::gib;
  const CachePlan plan = make_plan(flash_next(), engine, {.max_model_lens = {8192}});
  CHECK(plan.extras.size() == 2);
  for (const SpecPlan& spec : plan.specs) CHECK_FALSE((spec.is_indexer() || spec.ring_tokens > 0));
  ModelSpec unknown = flash_next();
  unknown.ring_tokens = unknown.ring_bytes_per_token = 0;
  const CachePlan without = make_plan(unknown, engine_in(CacheOrder::blnhc), {.max_model_lens = {8192}});
  REQUIRE(without.extras.size() == 1);
  CHECK(without.extras.front().blocks_per_request == 1);
}
