// Where the bytes go.
#include "planner/waste.h"

#include <doctest/doctest.h>

#include "engines/vllm/rules.h"
#include "planner/capacity.h"
#include "planner/plan.h"
#include "tests/planner/models.h"
#include "tests/planner/random_specs.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

CachePlan qwen_plan(std::int64_t pack, std::vector<std::int64_t> load = {}) {
  EngineSpec engine{.tensor_parallel = 2, .cache_mode = CacheMode::align, .attention_pack_size = pack};
  engine.memory_bytes = 40 * gib;
  return make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}, .load_tokens = std::move(load)});
}

std::int64_t accounted(const LoadWaste& load) {
  return load.used_bytes() + load.wasted_bytes() + load.null_block_bytes + load.free_bytes;
}

}  // namespace

TEST_CASE("golden: waste of a block id with a short pack (N = 4 of 15 layers)") {
  const CachePlan plan = qwen_plan(4);
  REQUIRE(plan.waste.per_block.size() == 13);
  for (std::size_t i = 0; i < 12; ++i) {  // 45 gdn layers in 12 groups of 4 pools: three groups lack a layer
    const BlockWaste& group = plan.waste.per_block[i];
    const std::int64_t layers = i < 9 ? 4 : 3;
    CHECK(group.group == static_cast<std::int64_t>(i));
    CHECK(group.state_padding_bytes == layers * (2'162'688 - 2'134'016));
    CHECK(group.empty_position_bytes == (4 - layers) * 2'162'688);
    CHECK(group.attention_padding_bytes == 0);
    CHECK(group.short_pack_bytes == 0);
  }
  const BlockWaste& attention = plan.waste.per_block[12];
  CHECK(attention.short_pack_bytes == 528 * 1024);
  CHECK(attention.total() == 528 * 1024);
}

TEST_CASE("golden: waste of a pack that divides is padding alone") {
  const CachePlan plan = qwen_plan(5);
  REQUIRE(plan.waste.per_block.size() == 16);
  for (std::size_t i = 0; i < 15; ++i) CHECK(plan.waste.per_block[i].total() == 3 * (2'211'840 - 2'134'016));
  CHECK(plan.waste.per_block[15].total() == 0);
}

TEST_CASE("golden: every byte of the pools under a stated load") {
  const CachePlan plan = qwen_plan(4, {1000, 528});
  const LoadWaste& load = plan.waste.at_load;
  const std::int64_t block_id = 4 * std::int64_t(2'162'688);
  CHECK(load.pool_bytes == plan.num_blocks() * block_id);
  CHECK(load.token_bytes == 15 * 1024 * (1000 + 528));
  CHECK(load.state_bytes == 2 * 45 * std::int64_t(2'134'016));
  CHECK(load.extra_state_bytes == 2 * 45 * std::int64_t(2'134'016));  // align: the second of two blocks
  CHECK(load.state_padding_bytes == 2 * 2 * 45 * std::int64_t(2'162'688 - 2'134'016));
  CHECK(load.empty_position_bytes == 2 * 2 * 3 * std::int64_t(2'162'688));
  CHECK(load.short_pack_bytes == (2 + 1) * 528 * 1024);
  CHECK(load.block_tail_bytes == (2 * 528 - 1000) * 15 * 1024);
  CHECK(load.attention_padding_bytes == 0);
  CHECK(load.null_block_bytes == block_id);
  const std::int64_t ids = 2 * 12 * 2 + 2 + 1;
  CHECK(load.free_bytes == (plan.num_blocks() - 1 - ids) * block_id);
  CHECK(accounted(load) == load.pool_bytes);
}

TEST_CASE("golden: a page padded for attention, and gaps inside a state") {
  ModelSpec model;  // a1 = 64 and 48, whose pages do not divide; conv of 3 x 3 bytes before an fp32 state
  const Mamba2Spec recurrent{.heads = 1, .head_dim = 1, .state_size = 1, .conv_kernel = 4};
  model.layers = {{full_attention(2, 8), recurrent}, {full_attention(1, 12), std::nullopt}};
  EngineSpec engine{.conv_dtype = DType::fp8_e4m3, .ssm_dtype = DType::fp32};
  engine.num_blocks = 100;
  const CachePlan plan = make_plan(model, engine, {.max_model_lens = {64}});
  REQUIRE(plan.specs.size() == 3);
  CHECK(plan.page_bytes() == 16 * 64);
  CHECK(plan.specs[1].state->bytes == 9 + 3 + 4);
  CHECK(plan.specs[1].state->padding_bytes == 3);
  CHECK(plan.waste.per_block[1].state_padding_bytes == 1024 - 13);
  CHECK(plan.waste.per_block[2].attention_padding_bytes == 256);
  CHECK(plan.specs[2].padding_percent == 100.0 * 256 / 768);
}

TEST_CASE("regression: the null block is no waste of the requests that run") {
  // A request that fills its blocks wastes nothing but padding: 22 ids of 15 pages.
  const LoadWaste load = qwen_plan(1, {16 * 2096}).waste.at_load;
  CHECK(load.null_block_bytes == 15 * std::int64_t(2'146'304));
  CHECK(load.block_tail_bytes == 0);
  CHECK(load.wasted_bytes() == 3 * 2 * 15 * std::int64_t(2'146'304 - 2'134'016));
}

TEST_CASE("golden: the default load is one request of the longest length that fits") {
  CHECK(qwen_plan(5).waste.at_load.sequence_tokens == std::vector<std::int64_t>{32'768});
  EngineSpec engine;
  engine.num_blocks = 11;
  const CachePlan plan = make_plan(two_layer_model(), engine, {.max_model_lens = {16, 1024}});
  CHECK(plan.waste.at_load.sequence_tokens == std::vector<std::int64_t>{9 * 16});
}

TEST_CASE("edge: a load that does not fit is refused with the ids it needs") {
  EngineSpec engine;
  engine.num_blocks = 11;
  const auto refusal = [&](std::vector<std::int64_t> load) -> std::string {
    try {
      make_plan(two_layer_model(), engine, {.max_model_lens = {16}, .load_tokens = std::move(load)});
    } catch (const SpecError& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK(refusal({64, 64}) == "accepted");  // 2 * (4 + 1) of 10
  CHECK(refusal({64, 65}) ==
        "limits.load_tokens: 2 requests need 11 block ids, the pools have 10 usable ones; take fewer or shorter "
        "requests, or more memory");
  CHECK(refusal(std::vector<std::int64_t>(1000, largest_tokens)).find("limits.load_tokens: 1,000 requests") == 0);
}

TEST_CASE("law: used, wasted and free bytes are the bytes of the pools") {
  for (SpecSize size : {SpecSize::real, SpecSize::tiny}) {
    CHECK(check_plans("waste", 5'000, size, [](const RandomSpecs&, const CachePlan& plan) {
      const LoadWaste& load = plan.waste.at_load;
      std::int64_t pools = 0;
      for (const PoolPlan& pool : plan.pools) pools += pool.bytes;
      RC_ASSERT(load.pool_bytes == pools);
      RC_ASSERT(accounted(load) == pools);
      for (std::int64_t bytes :
           {load.token_bytes, load.state_bytes, load.extra_state_bytes, load.state_padding_bytes,
            load.attention_padding_bytes, load.short_pack_bytes, load.empty_position_bytes, load.block_tail_bytes,
            load.null_block_bytes, load.free_bytes})
        RC_ASSERT(bytes >= 0);
    }));
  }
}

TEST_CASE("law: waste of a block id and what its layers keep are its bytes over all pools") {
  CHECK(check_plans("waste per block", 5'000, SpecSize::real, [](const RandomSpecs&, const CachePlan& plan) {
    RC_ASSERT(plan.waste.per_block.size() == plan.groups.size());
    for (const BlockWaste& waste : plan.waste.per_block) {
      const GroupPlan& group = plan.groups[waste.group];
      const SpecPlan& spec = plan.specs[group.spec];
      std::int64_t kept = 0;
      for (std::size_t i = 0; i < group.layers().size(); ++i)
        kept += spec.state ? spec.state->bytes - spec.state->padding_bytes
                           : spec.block_size_tokens * spec.bytes_per_token;
      RC_ASSERT(kept + waste.total() == plan.arenas.front().bytes_per_id);
    }
  }));
}

TEST_CASE("law: tokens and running states are the ideal bytes of the requests") {
  CHECK(check_plans("used bytes", 5'000, SpecSize::real, [](const RandomSpecs&, const CachePlan& plan) {
    const LoadWaste& load = plan.waste.at_load;
    std::int64_t ideal = 0;
    for (std::int64_t tokens : load.sequence_tokens) {
      ideal += capacity_at(plan, tokens, TokenRule::concurrency).ideal_bytes_per_request;
      for (const SpecPlan& spec : plan.specs)
        if (spec.state) ideal -= std::ssize(spec.layers) * spec.state->padding_bytes;
    }
    RC_ASSERT(load.token_bytes + load.state_bytes == ideal);
  }));
}

TEST_CASE("law: one request fewer uses less and leaves more") {
  CHECK(check_plans("fewer requests", 2'000, SpecSize::real, [](const RandomSpecs&, const CachePlan& plan) {
    const LoadWaste& load = plan.waste.at_load;
    if (load.sequence_tokens.empty()) return;
    std::vector<std::int64_t> fewer = load.sequence_tokens;
    fewer.pop_back();
    const LoadWaste less = waste_at_load(plan, plan.waste.per_block, fewer);
    RC_ASSERT(less.used_bytes() < load.used_bytes());
    RC_ASSERT(less.free_bytes > load.free_bytes);
    RC_ASSERT(accounted(less) == less.pool_bytes);
  }));
}

TEST_CASE("regression: ranks that share the tokens of attention keep their part of them") {
  EngineSpec engine{.rules = &rules_of_vllm_0_33, .backend_profile = BackendProfile::sm90, .tensor_parallel = 4,
                    .decode_context_parallel = 2, .cache_mode = CacheMode::align, .memory_bytes = 40 * gib};
  const CachePlan shared = make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}});
  engine.decode_context_parallel = 1;
  const CachePlan whole = make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}});
  const LoadWaste& load = shared.waste.at_load;
  CHECK(load.token_bytes == whole.waste.at_load.token_bytes / 2);
  CHECK(load.block_tail_bytes >= 0);
  CHECK(accounted(load) == load.pool_bytes);
  const std::int64_t saved = 15 * 1024 * std::int64_t(16'384);  // K and V of half the tokens in 15 layers
  CHECK(whole.capacity.front().ideal_bytes_per_request - shared.capacity.front().ideal_bytes_per_request == saved);
}
