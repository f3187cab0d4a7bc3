// Where faults are planted, and that they have no place where nothing is.
#include "verify/fault/plant.h"

#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <stdexcept>
#include <vector>

#include "base/error.h"
#include "engines/vllm/rules.h"
#include "tests/verify/plans.h"
#include "verify/transfer/stray_copy.h"

using namespace hybridkv;
using testing::small_plan;

TEST_CASE("fault: a reversed pack gives each layer the whole place of the one as far from the other end") {
  const ModelSpec dense = testing::hybrid_model(
      "dense", 5, AttentionSpec{.query_heads = 4, .kv_heads = 2, .head_size_k = 16, .head_size_v = 16},
      GdnSpec{2, 4, 16, 16, 4}, [](auto) { return true; });
  EngineSpec engine{.cache_mode = CacheMode::align, .memory_bytes = std::int64_t{64} << 20};
  engine.rules = &rules_of_vllm_0_33;
  engine.backend_profile = BackendProfile::sm90;
  for (const CachePlan& plan : {small_plan(2), small_plan(3), make_plan(dense, engine, {.max_model_lens = {256}})}) {
    CAPTURE(plan.attention_pack_size);
    const std::vector<BoundView> before = bind_views(plan);
    std::vector<BoundView> after = before;
    BlockAssignment assignment;
    plant_fault(Fault::pack_reversed, plan, after, assignment);
    // The layers of a page, in their order.
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::size_t>> packs;
    for (std::size_t i = 0; i < before.size(); ++i)
      if (plan.specs[static_cast<std::size_t>(before[i].view.spec)].attention)
        packs[{before[i].group, plan.cache_order ? 0 : before[i].view.lane.value}].push_back(i);
    REQUIRE_FALSE(packs.empty());
    for (const auto& [page, views] : packs)
      for (std::size_t i = 0; i < views.size(); ++i) {
        const BoundView& there = before[views[views.size() - 1 - i]];
        CHECK(after[views[i]].address == there.address);
        CHECK(after[views[i]].view.lane.value == there.view.lane.value);
        CHECK(after[views[i]].page == there.page);
      }
  }
}

TEST_CASE("fault: a slot that steps as if a layer were missing begins with the last layer of the slot before it") {
  const CachePlan plan =
      small_plan(1, CacheMode::align, DType::bf16, std::int64_t{64} << 20, Strategy::compact_slots);
  const std::vector<BoundView> before = bind_views(plan);
  std::vector<BoundView> after = before;
  BlockAssignment assignment;
  plant_fault(Fault::slot_stride, plan, after, assignment);
  const auto state_of_layer = [](const std::vector<BoundView>& views, std::int64_t layer) -> const Layout& {
    for (const BoundView& view : views)
      if (view.view.layer == layer && view.view.tensor == "ssm") return view.address;
    throw std::logic_error("the layer keeps a recurrent state");
  };
  // A slot has the states of layers 0, 2 … 10 side by side.
  const Layout& first = state_of_layer(after, 0);
  CHECK(first.offset() == state_of_layer(before, 0).offset());
  CHECK(first.offset() + first.stride("block") == state_of_layer(before, 10).offset());
}

TEST_CASE("edge: narrow offsets have a place from the first element on that 32 bits do not reach") {
  const CachePlan plan = small_plan(1);
  const auto plant_with_last = [&](std::int64_t last_element) {
    std::vector<BoundView> views = bind_views(plan);
    for (BoundView& view : views)
      view.address = Layout({{"block", 2, last_element * view.element_bytes()}});
    BlockAssignment assignment;
    plant_fault(Fault::narrow_offsets, plan, views, assignment);
  };
  const std::int64_t limit = std::numeric_limits<std::int32_t>::max();
  CHECK_THROWS_WITH_AS(plant_with_last(limit), doctest::Contains("its largest element offset is 2147483647"),
                       InputError);
  CHECK_NOTHROW(plant_with_last(limit + 1));
}

TEST_CASE("edge: where nobody holds a block none is copied to where it does not belong") {
  const CachePlan plan = small_plan(3);
  const std::vector<BoundView> views = bind_views(plan);
  const BlockAssignment held = assign_blocks(plan, std::vector<BatchRequest>{{.tokens = 100}}, 1);
  const BlockAssignment nothing = assign_blocks(plan, {}, 1);
  for (const Fault fault : {Fault::kv_over_state, Fault::state_over_kv, Fault::freed_block}) {
    CHECK(find_stray_copy(fault, plan, views, held).has_value());
    CHECK_FALSE(find_stray_copy(fault, plan, views, nothing).has_value());
  }
}

TEST_CASE("edge: where attention and states share no pool nothing of the one kind is copied over the other") {
  const CachePlan plan = small_plan(2, CacheMode::align, DType::bf16, std::int64_t{64} << 20, Strategy::dual_pool);
  const std::vector<BoundView> views = bind_views(plan);
  const BlockAssignment held = assign_blocks(plan, std::vector<BatchRequest>{{.tokens = 100}}, 1);
  CHECK_FALSE(find_stray_copy(Fault::kv_over_state, plan, views, held).has_value());
  CHECK_FALSE(find_stray_copy(Fault::state_over_kv, plan, views, held).has_value());
  CHECK(find_stray_copy(Fault::freed_block, plan, views, held).has_value());
}
