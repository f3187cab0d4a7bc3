// Attention and state views of the same page, with their byte offsets, as vLLM computed them.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "planner/plan.h"
#include "tests/planner/models.h"
#include "test_paths.h"

using namespace hybridkv;
using nlohmann::json;

namespace {

using Numbers = std::vector<std::int64_t>;

Numbers shape_of(const Layout& layout) {
  Numbers shape;
  for (const Axis& axis : layout.axes()) shape.push_back(axis.extent);
  return shape;
}

Numbers strides_of(const Layout& layout) {
  Numbers strides;
  for (const Axis& axis : layout.axes()) strides.push_back(axis.stride);
  return strides;
}

CachePlan plan_of(const json& row) {
  EngineSpec engine;
  engine.tensor_parallel = row["tp"];
  engine.kv_dtype = parse_dtype(row["kv_dtype"].get<std::string>());
  engine.ssm_dtype = parse_dtype(row["ssm_dtype"].get<std::string>());
  engine.conv_dtype = parse_dtype(row["conv_dtype"].get<std::string>());
  engine.cache_mode = CacheMode::align;
  engine.attention_pack_size = row["pack_size"];
  engine.num_blocks = 2000;
  const std::int64_t kernel_block = row["kernel_block_size"];
  if (kernel_block != row["block_size"].get<std::int64_t>()) engine.kernel_block_sizes = {kernel_block};
  const ModelSpec model =
      row["model"] == "Qwen3.5-397B-A17B" ? testing::qwen35_397b() : testing::granite_h_small();
  return make_plan(model, engine, LimitsSpec{.max_model_lens = {1024}});
}

/// The published views have 3 pages, ours 2000; everything but the block axis is compared as it stands.
void check_attention(const json& row, const CachePlan& plan) {
  const json& published = row["attn"];
  const std::int64_t kernel_blocks =
      row["block_size"].get<std::int64_t>() / row["kernel_block_size"].get<std::int64_t>();
  Numbers offsets;
  for (const ViewPlan& view : plan.views) {
    if (view.tensor != "kv" || view.pool != 0) continue;
    Numbers shape = shape_of(view.elements());
    CHECK(shape.front() == 2000 * kernel_blocks);
    shape.front() = 3 * kernel_blocks;
    CHECK(shape == published["shape"].get<Numbers>());
    CHECK(strides_of(view.elements()) == published["strides"].get<Numbers>());
    offsets.push_back(view.elements().offset());
  }
  Numbers expected = published["storage_offsets"].get<Numbers>();
  expected.resize(offsets.size());  // a pack that is short in the model has fewer layers than slots
  CHECK(offsets == expected);
  CHECK(offsets.size() > 0);
}

void check_page_states(const json& row, const CachePlan& plan) {
  for (const json& published : row["mamba"]) {
    std::size_t found = 0;
    for (const ViewPlan& view : plan.views) {
      if (view.tensor != published["state"].get<std::string>()) continue;
      ++found;
      Numbers shape = shape_of(view.elements());
      shape.front() = 3;
      CHECK(shape == published["shape"].get<Numbers>());
      CHECK(strides_of(view.elements()) == published["strides"].get<Numbers>());
      CHECK(view.dtype == *parse_dtype(published["dtype"].get<std::string>()));
      CHECK(view.elements().offset() == published["storage_offset"].get<std::int64_t>());
      CHECK(view.bytes.offset() == published["byte_offset"].get<std::int64_t>());
    }
    CHECK(found > 0);
  }
}

}  // namespace

TEST_CASE("golden: attention and state views of 40 published pages") {
  std::ifstream file(HYBRIDKV_TEST_DATA "/planner/page_views.jsonl");
  REQUIRE(file.is_open());
  std::size_t rows = 0;
  for (std::string line; std::getline(file, line); ++rows) {
    const json row = json::parse(line);
    CAPTURE(line);
    const CachePlan plan = plan_of(row);
    CHECK(plan.page_bytes() == row["page_size_bytes"].get<std::int64_t>());
    check_attention(row, plan);
    check_page_states(row, plan);
  }
  CHECK(rows == 40);
}
