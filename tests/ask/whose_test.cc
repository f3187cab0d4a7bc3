#include "ask/whose.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "engines/jenga/rules.h"
#include "engines/vllm/rules.h"
#include "tests/verify/plans.h"
#include "verify/layout/bound_view.h"

namespace hybridkv {
namespace {

/// Small plans by which every byte of a block can be asked for: packs, padded pages, kernel blocks, one allocation in
/// two orders, states in slots, and small pages inside of large ones.
std::map<std::string, CachePlan> small_plans() {
  std::map<std::string, CachePlan> plans;
  for (const std::int64_t pack : {1, 4}) plans.emplace(fmt::format("N = {}", pack), testing::small_plan(pack));
  for (const Strategy strategy : {Strategy::dual_pool, Strategy::small_pages, Strategy::compact_slots})
    plans.emplace(to_string(strategy),
                  testing::small_plan(1, CacheMode::align, DType::bf16, std::int64_t(8) << 20, strategy));
  const ModelSpec model = testing::hybrid_model(
      "small", 6, AttentionSpec{.query_heads = 4, .kv_heads = 2, .head_size_k = 16, .head_size_v = 16},
      GdnSpec{2, 4, 16, 16, 4}, [](std::int64_t i) { return i % 2 == 1; });
  const auto add = [&](const char* name, const EngineRules& rules, auto set) {
    EngineSpec engine{.rules = &rules, .strategy = rules.strategy, .cache_mode = CacheMode::align};
    engine.memory_bytes = std::int64_t(8) << 20;
    set(engine);
    plans.emplace(name, make_plan(model, engine, LimitsSpec{.max_model_lens = {256}}));
  };
  for (const CacheOrder order : {CacheOrder::lbhnc, CacheOrder::blnhc})
    add(to_string(order).data(), rules_of_vllm_0_33, [&](EngineSpec& engine) { engine.cache_order = order; });
  add("padded", rules_of_vllm_0_33, [](EngineSpec& engine) { engine.what_if.page_bytes = 16 << 10; });
  add("jenga", rules_of_jenga, [](EngineSpec&) {});
  return plans;
}

TEST_CASE("law: every byte of a block is of the layer whose view has it, or nobody's") {
  for (const auto& [name, plan] : small_plans()) {
    CAPTURE(name);
    const std::vector<BoundView> views = bind_views(plan);
    std::map<std::int64_t, std::int64_t> found, expected;  // bytes by group
    for (const LanePlan& lane : plan.lanes)
      for (std::int64_t byte = lane.begin(2); byte < lane.begin(2) + lane.bytes; ++byte) {
        const WhoseAnswer answer = whose_byte(plan, lane.pool.value, byte);
        if (answer.id != 2) FAIL_CHECK(fmt::format("byte {} is said to be of id {}", byte, answer.id));
        for (const ByteOwner& owner : answer.owners) found[owner.group] += owner.layer.has_value();
      }
    for (const BoundView& view : views) {
      const GroupPlan& group = group_of(plan, view);
      // Of the elements of a view each place has as many; an entry in several ids has a part in each.
      expected[view.group] += view.view.bytes.num_elements() / view.view.bytes.extent("block") *
                              view.element_bytes() * view.kernel_blocks_per_page * group.entries_per_id;
    }
    for (const auto& [group, bytes] : expected) {
      CAPTURE(group);
      if (plan.groups[static_cast<std::size_t>(group)].ids_per_entry == 1) CHECK(found[group] == bytes);
    }
  }
}

TEST_CASE("law: the place of an element of K and V is told as it was asked for") {
  for (const auto& [name, plan] : small_plans()) {
    CAPTURE(name);
    int asked = 0;
    for (const BoundView& view : bind_views(plan)) {
      const SpecPlan& spec = plan.specs[static_cast<std::size_t>(view.view.spec)];
      if (!spec.attention) continue;
      const KeyValueLayouts both = key_value_bytes(view, *spec.attention);
      for (const bool is_value : {false, true}) {
        const Layout& layout = is_value ? both.value : both.key;
        const std::int64_t kernel = layout.extent("block") - 1, token = layout.extent("token") - 1;
        std::vector<std::int64_t> index(4);
        index[static_cast<std::size_t>(layout.find("block"))] = kernel;
        index[static_cast<std::size_t>(layout.find("token"))] = token;
        index[static_cast<std::size_t>(layout.find("head"))] = 1;
        index[static_cast<std::size_t>(layout.find("channel"))] = 9;
        const WhoseAnswer answer = whose_byte(plan, view.view.pool, layout.at(index) + 1);
        const auto owner = std::find_if(answer.owners.begin(), answer.owners.end(),
                                        [&](const ByteOwner& one) { return one.layer == view.view.layer; });
        REQUIRE(owner != answer.owners.end());
        CHECK(owner->tensor == (is_value ? "V" : "K"));
        CHECK(owner->byte == 1);
        const std::int64_t in_block = kernel % view.kernel_blocks_per_page * spec.kernel_entries() + token;
        CHECK(owner->index == decltype(owner->index){{"token", in_block}, {"head", 1}, {"channel", 9}});
        const std::int64_t place = kernel / view.kernel_blocks_per_page;
        CHECK(answer.id == place / group_of(plan, view).entries_per_id);
        ++asked;
      }
    }
    CHECK(asked > 0);
  }
}

TEST_CASE("rule: pages of states are told by their axes, wherever a state lies") {
  const CachePlan plan = testing::small_plan(1, CacheMode::align, DType::bf16, std::int64_t(8) << 20,
                                             Strategy::small_pages);
  int elements = 0;
  for (std::int64_t byte = 0; byte < 64 << 10; byte += 4)
    for (const ByteOwner& owner : whose_byte(plan, 0, byte).owners)
      if (owner.tensor == "ssm") {
        REQUIRE(owner.index.size() == 3);
        CHECK(owner.index[0].second < 4);
        ++elements;
      }
  CHECK(elements > 1000);
}

TEST_CASE("message: pools and bytes that there are not are refused with those that there are") {
  const CachePlan plan = testing::small_plan(2);
  const auto refusal = [&](std::int64_t pool, std::int64_t byte) -> std::string {
    try {
      whose_byte(plan, pool, byte);
      return "answered";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  CHECK(refusal(0, 0) == "answered");
  CHECK(whose_byte(plan, 0, 0).is_null);
  CHECK(refusal(99, 0).starts_with("pool 99: the plan has "));
  CHECK(refusal(-1, 0).starts_with("pool -1: the plan has "));
  CHECK(refusal(0, plan.pools[0].bytes) ==
        fmt::format("byte {}: pool 0 has bytes 0 to {}", plan.pools[0].bytes, plan.pools[0].bytes - 1));
}

}  // namespace
}  // namespace hybridkv
