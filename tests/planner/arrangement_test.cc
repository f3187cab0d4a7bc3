// The laws that every arrangement keeps, whatever its strategy, and what two more strategies make of known models.
#include "planner/arrangement.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "engines/llama_cpp/rules.h"
#include "engines/tensorrt_llm/rules.h"
#include "engines/vllm/rules.h"
#include "planner/capacity.h"
#include "planner/demand.h"
#include "planner/capacity.h"
#include "planner/plan.h"
#include "tests/planner/arrangement_laws.h"
#include "tests/planner/models.h"
#include "tests/planner/random_specs.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

CachePlan qwen(Strategy strategy, std::int64_t block = 16, std::int64_t pack = 1) {
  EngineSpec engine{
      .tensor_parallel = 2, .strategy = strategy, .cache_mode = CacheMode::align, .attention_pack_size = pack};
  engine.block_size_tokens = block;
  engine.memory_bytes = 40 * gib;
  for (const EngineRules* const rules : {&rules_of_tensorrt_llm, &rules_of_llama_cpp})
    if (rules->strategy == strategy) {
      engine.rules = rules;
      engine.attention_pack_size = 1;
      if (strategy == Strategy::pool_groups) engine.max_running_requests = 64;
      if (strategy == Strategy::sequence_rows) engine.block_size_tokens.reset();
    }
  return make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}});
}

/// A hybrid and a draft of other pages in one allocation.
CachePlan qwen_in_order(CacheOrder order) {
  EngineSpec engine{.rules = &rules_of_vllm_0_33, .tensor_parallel = 2, .cache_mode = CacheMode::align};
  engine.cache_order = order;
  engine.memory_bytes = 40 * gib;
  engine.draft = DraftSpec{2, full_attention(8, 128)};
  return make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}});
}

/// The laws of arrangements on plans of one allocation, and how many were met in each order.
bool check_allocations(int count, SpecSize size, std::map<CacheOrder, int>& met, int& spread, int& shared) {
  return check_plans("one allocation", count, size, [&](const RandomSpecs&, const CachePlan& plan) {
    if (!plan.view_error.empty()) return;  // the engine makes no views of it
    ++met[*plan.cache_order];
    for (const GroupPlan& group : plan.groups) {
      spread += group.lanes_per_page > 1;
      shared += group.shares_table && group.in_lane;
    }
    RC_ASSERT(broken_law(plan) == "");
  }, Strategies::one_allocation);
}

}  // namespace

TEST_CASE("law: every plan of one allocation keeps the laws, in all six orders and on stages of a pipeline") {
  for (const SpecSize size : {SpecSize::real, SpecSize::tiny}) {
    std::map<CacheOrder, int> met;
    int spread = 0, shared = 0;
    CHECK(check_allocations(4'000, size, met, spread, shared));
    for (const CacheOrder order : all_cache_orders) {
      CAPTURE(to_string(order));
      CHECK(met[order] > 30);
    }
    CHECK(spread > 10);
    CHECK(shared > 30);
  }
}

TEST_CASE("fault: the laws can be broken in one allocation too") {
  const CachePlan good = qwen_in_order(CacheOrder::blnhc);
  REQUIRE(broken_law(good) == "");
  const auto broken = [&](auto change) {
    CachePlan plan = good;
    change(plan);
    return broken_law(plan);
  };
  const auto sharing = [](CachePlan& plan) -> GroupPlan& {
    return *std::find_if(plan.groups.begin(), plan.groups.end(), [](const GroupPlan& g) { return g.shares_table; });
  };
  CHECK(broken([&](CachePlan& plan) { sharing(plan).in_lane->first -= 1; }) == "two pages of a table meet");
  CHECK(broken([&](CachePlan& plan) { sharing(plan).in_lane->first += plan.lanes[0].bytes; }) ==
        "a page leaves the piece of its lane");
  CHECK(broken([](CachePlan& plan) { plan.lanes[0].stride -= 1; }) == "pieces of one lane share a byte");
  CHECK(broken([](CachePlan& plan) { plan.pools[0].bytes += 4; }) == "a pool has bytes of no lane");
  CHECK(broken([](CachePlan& plan) {  // inside the piece of its id, but in the page of another layer
          for (ViewPlan& view : plan.views)
            if (plan.specs[static_cast<std::size_t>(view.spec)].attention) {
              view.bytes = Layout(view.bytes.axes(), view.bytes.offset() + 64);
              return;
            }
        }) == "a placement leaves the piece of its id");
  CHECK(broken([](CachePlan& plan) { plan.views.push_back(plan.views[0]); }) == "two placements share a byte");
  CHECK(broken([](CachePlan& plan) { plan.waste.per_block[0].empty_position_bytes += 1; }) ==
        "an entry of group 0 has bytes of no name");
  const CachePlan spread = [] {
    EngineSpec engine{.rules = &rules_of_vllm_0_33};
    engine.cache_order = CacheOrder::lhbnc;
    engine.memory_bytes = gib;
    ModelSpec model{.name = "uniform"};
    for (int i = 0; i < 3; ++i) model.layers.push_back({full_attention(8, 128), std::nullopt});
    return make_plan(model, engine, {.max_model_lens = {1024}});
  }();
  REQUIRE(broken_law(spread) == "");
  CachePlan wrong = spread;
  wrong.groups[0].lanes_per_page = 7;  // of eight heads: the next page begins in the last lane of this one
  CHECK(broken_law(wrong) != "");
  wrong = spread;
  std::vector<Axis> axes(wrong.views[0].bytes.axes().begin(), wrong.views[0].bytes.axes().end());
  for (Axis& axis : axes)
    if (axis.name == AxisName("head")) axis.stride -= 2;
  wrong.views[0].bytes = Layout(axes, wrong.views[0].bytes.offset());
  CHECK(broken_law(wrong) == "a placement leaves the piece of its id");
}

TEST_CASE("law: every arrangement keeps the laws, at the size of deployments") {
  CHECK(check_plans("arrangements", 6'000, SpecSize::real, [](const RandomSpecs&, const CachePlan& plan) {
    RC_ASSERT(broken_law(plan) == "");
  }, Strategies::all));
}

TEST_CASE("law: every arrangement keeps the laws, where pages are a few bytes") {
  CHECK(check_plans("tiny arrangements", 6'000, SpecSize::tiny, [](const RandomSpecs&, const CachePlan& plan) {
    RC_ASSERT(broken_law(plan) == "");
  }, Strategies::all));
}

TEST_CASE("law: demand grows with the length and decides what fits") {
  CHECK(check_plans("demand", 4'000, SpecSize::real, [](const RandomSpecs&, const CachePlan& plan) {
    const std::int64_t longest = plan.max_fitting_tokens;
    if (longest > 0) RC_ASSERT(fits(plan, request_demand(plan, longest)));
    if (longest < longest_context(plan)) RC_ASSERT(!fits(plan, request_demand(plan, longest + 1)));
    for (const CapacityPlan& capacity : plan.capacity) {
      const Demand demand = request_demand(plan, capacity.max_model_len);
      RC_ASSERT(capacity.fits == fits_as_engines_check(plan, demand));
      RC_ASSERT(capacity.bytes_per_request == bytes_of(plan, demand));
      RC_ASSERT((capacity.usable_concurrency >= 1) == fits(plan, demand));
    }
  }, Strategies::all));
}

TEST_CASE("fault: every law of arrangements can be broken, and is then named") {
  for (const Strategy strategy : all_strategies) {
    const CachePlan good = qwen(strategy, 16, strategy == Strategy::two_level ? 1 : 3);
    REQUIRE(broken_law(good) == "");
    const auto broken = [&](auto change) {
      CachePlan plan = good;
      change(plan);
      return broken_law(plan);
    };
    CHECK(broken([](CachePlan& plan) { plan.lanes[0].stride = plan.lanes[0].bytes - 1; }) ==
          "pieces of one lane share a byte");
    CHECK(broken([](CachePlan& plan) { plan.lanes[0].offset += plan.pools[0].bytes; }) == "a lane leaves its pool");
    if (strategy == Strategy::two_level)
      CHECK(broken([](CachePlan& plan) { plan.groups[1].entries_per_id -= 1; }) != "");
    else
      CHECK(broken([](CachePlan& plan) { plan.lanes[1] = plan.lanes[0]; }) == "two lanes share a byte");
    CHECK(broken([](CachePlan& plan) { plan.pools[0].bytes += 4; }) == "a pool has bytes of no lane");
    CHECK(broken([](CachePlan& plan) { plan.views[0].pool += 1; }) == "a placement names another pool than its lane");
    CHECK(broken([](CachePlan& plan) {
            Layout& bytes = plan.views[0].bytes;
            bytes = Layout(bytes.axes(), bytes.offset() + plan.lanes[0].bytes);
          }) == "a placement leaves the piece of its id");
    CHECK(broken([](CachePlan& plan) { plan.views.push_back(plan.views[0]); }) == "two placements share a byte");
    CHECK(broken([](CachePlan& plan) { plan.waste.per_block[0].state_padding_bytes += 1; }) ==
          "an entry of group 0 has bytes of no name");
    CHECK(broken([](CachePlan& plan) { plan.waste.at_load.free_bytes += 1; }) ==
          "the bytes of the pools do not add up");
    CHECK(broken([](CachePlan& plan) { plan.arenas[0].bytes_per_id += 1; }) == "an id has other bytes than its pieces");
  }
}

TEST_CASE("golden: Qwen3.5-397B as a dual pool, by hand") {
  const CachePlan plan = qwen(Strategy::dual_pool);
  REQUIRE(plan.arenas.size() == 2);
  // 15 attention layers of 16 tokens of 1,024 bytes; 45 states of 2,134,016 bytes.
  const std::int64_t page = 16 * 1024, state = 2'134'016;
  CHECK(plan.arenas[0].name == "tokens");
  CHECK(plan.arenas[0].bytes_per_id == 15 * page);
  CHECK(plan.arenas[1].name == "states");
  CHECK(plan.arenas[1].bytes_per_id == 45 * state);
  // 40 GiB * 0.9 / 1.9 = 20,344,770,398 bytes hold 211 slots; the rest is pages of tokens.
  const std::int64_t slots = 20'344'770'398 / (45 * state);
  CHECK(slots == 211);
  CHECK(plan.arenas[1].num_ids == slots);
  CHECK(plan.arenas[0].num_ids == (40 * gib - slots * 45 * state) / (15 * page));
  CHECK(plan.pools.size() == 15 + 1);
  CHECK(plan.pools[15].bytes == slots * 45 * state);
  CHECK(plan.lanes[15 + 44].offset == 44 * slots * state);
  // A request of 32,768 tokens: 2,048 pages and, mode align, 2 slots.
  CHECK(request_demand(plan, 32'768).ids == std::vector<std::int64_t>{2048, 2});
  CHECK(plan.capacity[0].bytes_per_request == 2048 * 15 * page + 2 * 45 * state);
  CHECK(plan.capacity[0].usable_concurrency == static_cast<double>(plan.arenas[0].usable_ids()) / 2048);
  CHECK(plan.max_running_requests == (slots - 1) / 2);
  CHECK(plan.prefix.match_unit_tokens == 16);
  for (const BlockWaste& waste : plan.waste.per_block) CHECK(waste.total() == 0);
  CHECK(plan.waste.at_load.wasted_bytes() == 0);
}

TEST_CASE("golden: the states of so many requests instead of a share") {
  EngineSpec engine{.tensor_parallel = 2, .strategy = Strategy::dual_pool, .state_requests = 64};
  engine.memory_bytes = 40 * gib;
  const CachePlan plan = make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}});
  CHECK(plan.arenas[1].num_ids == 64 + 1);  // mode none: one state a request, and the null slot
  CHECK(plan.max_running_requests_by_states == 64);
  engine.state_requests = 1'000'000;
  CHECK_THROWS_WITH_AS(make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}}),
                       doctest::Contains("engine.state_requests: 1000001 slots take"), SpecError);
}

TEST_CASE("golden: Qwen3.5-397B in small pages, by hand") {
  for (const auto& [block, ids] : {std::pair<std::int64_t, std::int64_t>{16, 131}, {64, 33}}) {
    const CachePlan plan = qwen(Strategy::small_pages, block);
    const std::int64_t page = block * 1024;
    REQUIRE(plan.is_uniform());
    CHECK(plan.page_bytes() == page);
    CHECK(plan.pools.size() == 15);
    REQUIRE(plan.groups.size() == 1 + 3);
    CHECK(plan.groups[0].ids_per_entry == ids);  // ceil(2,134,016 / page)
    CHECK(plan.num_blocks() == 40 * gib / page / 15);
    // Two entries for each of three groups of states, and the blocks of attention.
    CHECK(plan.capacity[0].blocks_per_request == 3 * 2 * ids + 32'768 / block);
    CHECK(plan.prefix.match_unit_tokens == block);
    CHECK(plan.waste.per_block[0].state_padding_bytes == 15 * (ids * page - 2'134'016));
    CHECK(plan.waste.per_block[3].total() == 0);
  }
}

TEST_CASE("golden: a checkpoint grid of its own: states every 256 tokens, attention in blocks of 16") {
  for (const Strategy strategy : {Strategy::dual_pool, Strategy::small_pages}) {
    EngineSpec engine{.tensor_parallel = 2, .strategy = strategy, .cache_mode = CacheMode::all};
    engine.mamba_block_size_tokens = 256;
    engine.memory_bytes = 200 * gib;
    const CachePlan plan = make_plan(qwen35_397b(), engine, {.max_model_lens = {4096}});
    for (const SpecPlan& spec : plan.specs) CHECK(spec.block_size_tokens == (spec.state ? 256 : 16));
    CHECK(plan.prefix.match_unit_tokens == 256);
    for (const GroupPlan& group : plan.groups)
      if (plan.spec_of(group).state) CHECK(table_entries(table_rule(plan, plan.spec_of(group)), 4096) == 16);
  }
}

TEST_CASE("edge: pages that end inside an element of a state are refused") {
  ModelSpec model;
  GdnSpec layer{.key_heads = 1, .value_heads = 1, .key_head_dim = 4, .value_head_dim = 4, .conv_kernel = 4};
  AttentionSpec attention{.kv_heads = 1, .head_size_k = 1, .head_size_v = 1};
  model.layers = {{std::nullopt, layer}, {attention, std::nullopt}};
  EngineSpec engine{.kv_dtype = DType::fp8_e4m3, .ssm_dtype = DType::fp32, .strategy = Strategy::small_pages};
  engine.block_size_tokens = 1;
  engine.kernel_alignment_tokens = 1;
  engine.memory_bytes = 1 << 20;
  CHECK_THROWS_WITH_AS(make_plan(model, engine, {.max_model_lens = {8}}),
                       doctest::Contains("a page of 2 bytes ends inside a 4-byte element"), SpecError);
}
