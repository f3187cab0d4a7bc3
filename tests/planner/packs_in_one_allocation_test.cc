// Packs of N attention layers in the one allocation of 0.33: what a block is, where layers lie, and what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "planner/allocated_tensors.h"
#include "planner/evidence.h"
#include "planner/plan.h"
#include "tests/planner/at_32k.h"
#include "tests/planner/models.h"
#include "tests/planner/packed_engine.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

const SpecPlan& packed_attention_of(const CachePlan& plan) {
  return *std::find_if(plan.specs.begin(), plan.specs.end(), [](const SpecPlan& spec) { return !spec.state; });
}

}  // namespace

TEST_CASE("golden: five layers a page of Qwen3.5-397B on two ranks") {
  const CachePlan plan = make_plan(qwen35_397b(), packed_engine(5), at_32k);
  const SpecPlan& attention = packed_attention_of(plan);
  CHECK(plan.cache_order == CacheOrder::blnhc);
  CHECK(plan.pools.size() == 1);
  CHECK(attention.layers_per_page == 5);
  CHECK(attention.block_size_tokens == 448);  // the least multiple of 64 tokens whose five layers hold a state
  CHECK(plan.page_bytes() == 5 * 448 * 1024);
  CHECK(plan.arenas.front().bytes_per_id == 3 * plan.page_bytes());
  CHECK(plan.groups.size() == 1 + 15);
  for (const AllocatedTensor& tensor : allocated_tensors(plan)) {
    CHECK(tensor.block_stride == plan.arenas.front().bytes_per_id);
    CHECK(tensor.offset_bytes == 0);
    CHECK(tensor.layer_stride == (tensor.layers.size() == 15 ? 448 * 1024 : plan.page_bytes()));
  }
  CHECK(evidence_of(plan) == Evidence::builder);
}

TEST_CASE("golden: packs with room behind them in their page are a tensor each") {
  EngineSpec engine = packed_engine(5);
  const std::int64_t layer = 448 * 1024, page = 6 * layer;  // a sixth layer would fit
  engine.what_if.page_bytes = page;
  const CachePlan plan = make_plan(qwen35_397b(), engine, at_32k);
  const std::vector<AllocatedTensor> tensors = allocated_tensors(plan);
  CHECK(tensors.size() == 15 + 3);  // a group of three states each, and the three pages of attention
  std::int64_t packs = 0;
  for (const AllocatedTensor& tensor : tensors) {
    if (tensor.layers.front() % 4 != 3) continue;  // a state
    CHECK(tensor.layers.size() == 5);
    CHECK(tensor.layer_stride == layer);
    CHECK(tensor.block_stride == 3 * page);
    CHECK(tensor.offset_bytes == packs * page);
    ++packs;
  }
  CHECK(packs == 3);
}

TEST_CASE("law: layers of a block are apart and fill it, whatever N is") {
  for (const std::int64_t pack : {1, 2, 3, 4, 5, 7, 15, 20}) {
    CAPTURE(pack);
    const CachePlan plan = make_plan(qwen35_397b(), packed_engine(pack), at_32k);
    for (const GroupPlan& group : plan.groups) {
      std::set<std::pair<std::int64_t, std::int64_t>> runs;
      for (const ViewPlan& view : plan.views) {
        if (view.tensor != "kv" || plan.spec_of(group).state) continue;
        const std::int64_t own = plan.spec_of(group).bytes_of_tokens(packed_attention_of(plan).block_size_tokens);
        runs.emplace(view.bytes.offset(), view.bytes.offset() + own);
        CHECK(view.bytes.stride("block") ==
              (is_block_outermost(*plan.cache_order) ? plan.arenas.front().bytes_per_id : plan.page_bytes(group)));
      }
      if (!plan.spec_of(group).state) CHECK(runs.size() == 15);
      std::int64_t end = 0;
      for (const auto& [front, behind] : runs) {
        CHECK(front >= end);
        end = behind;
      }
      if (pack > 1) CHECK(end <= plan.arenas.front().bytes_per_id);
    }
  }
}

TEST_CASE("law: more layers a page make a smaller block and more of them") {
  const CachePlan one = make_plan(qwen35_397b(), packed_engine(1), at_32k);
  const CachePlan five = make_plan(qwen35_397b(), packed_engine(5), at_32k);
  CHECK(packed_attention_of(five).block_size_tokens * 4 < packed_attention_of(one).block_size_tokens);
  CHECK(five.num_blocks() > one.num_blocks());
}

TEST_CASE("message: packs are of one stage, and lie in orders with the blocks outermost") {
  EngineSpec engine = packed_engine(3);
  engine.pipeline_parallel = 2;
  CHECK_THROWS_WITH_AS(make_plan(qwen35_397b(), engine, at_32k),
                       "engine.pipeline_parallel: is 2, but 3 layers a page are planned on one stage; take 1, or "
                       "engine.attention_pack_size 1",
                       SpecError);
  engine = packed_engine(3);
  engine.cache_order = CacheOrder::lbnhc;
  CHECK_THROWS_WITH_AS(make_plan(qwen35_397b(), engine, at_32k),
                       "engine.physical_order: LBNHC is no order for these layers and their backends; valid: BLNHC, "
                       "BLHNC",
                       SpecError);
}
