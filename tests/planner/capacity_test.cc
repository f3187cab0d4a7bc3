// What fits: domain sections 4 and 5.
#include "planner/capacity.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "planner/plan.h"
#include "planner/uniform_pages.h"
#include "tests/planner/models.h"
#include "tests/planner/random_specs.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// One attention and one recurrent group, block 16, three speculative tokens: the example of section 4.
CachePlan smallest_hybrid(std::int64_t num_blocks, std::int64_t max_model_len = 1024) {
  EngineSpec engine{.cache_mode = CacheMode::align, .speculative_tokens = 3};
  engine.num_blocks = num_blocks;
  return make_plan(two_layer_model(), engine, {.max_model_lens = {max_model_len}});
}

std::int64_t largest_length(const LimitsSpec& limits) {
  return *std::max_element(limits.max_model_lens.begin(), limits.max_model_lens.end());
}

}  // namespace

TEST_CASE("golden: the null block takes one block of what engines count (69 blocks, 1008 of 1024 tokens)") {
  const CachePlan plan = smallest_hybrid(69);
  REQUIRE(plan.groups.size() == 2);
  CHECK(plan.specs[1].block_size_tokens == 16);
  CHECK(plan.num_blocks() == 69);
  CHECK(plan.usable_blocks() == 68);
  CHECK(plan.capacity.front().blocks_per_request == 64 + 5);
  CHECK(plan.capacity.front().fits);  // as engines check
  CHECK(plan.capacity.front().max_concurrency == 1.0);
  CHECK(plan.capacity.front().usable_concurrency < 1.0);
  CHECK(plan.max_fitting_tokens == (68 - 5) * 16);
  CHECK(smallest_hybrid(70).max_fitting_tokens == 1024);
}

TEST_CASE("golden: both printing rules of the KV cache tokens") {
  // Nemotron-3-Nano-4B, row 61: 1473 blocks, 7 groups, 15 ids at 8192 tokens, block 992.
  EngineSpec engine{.kv_dtype = DType::fp8_e4m3, .ssm_dtype = DType::fp16};
  engine.num_blocks = 1473;
  engine.token_rule = TokenRule::floor;
  const CapacityPlan floor = make_plan(nemotron_nano_4b(), engine, {.max_model_lens = {8192}}).capacity.front();
  CHECK(floor.kv_cache_tokens == 1473 / 7 * 992);
  CHECK(floor.kv_cache_tokens_by_concurrency == 804'454);  // int(1473 / 15 * 8192)
  engine.token_rule = TokenRule::concurrency;
  const CapacityPlan fractional = make_plan(nemotron_nano_4b(), engine, {.max_model_lens = {8192}}).capacity.front();
  CHECK(fractional.kv_cache_tokens == 804'454);
  CHECK(fractional.kv_cache_tokens_by_floor == 208'320);
  // In mode none the recurrent block counts as max_model_len, here less than a block of attention.
  const CapacityPlan narrow = make_plan(nemotron_nano_4b(), engine, {.max_model_lens = {500}}).capacity.front();
  CHECK(narrow.kv_cache_tokens_by_floor == 1473 / 7 * 500);
}

TEST_CASE("golden: bytes of a request against the ideal, and what one token costs") {
  EngineSpec engine{.tensor_parallel = 2, .cache_mode = CacheMode::align, .memory_bytes = 40 * gib};
  const CachePlan plan = make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}});
  const std::int64_t block_bytes = 15 * std::int64_t(2'146'304);
  CHECK(plan.arenas.front().bytes_per_id == block_bytes);
  CHECK(plan.capacity.front().bytes_per_request == 22 * block_bytes);
  CHECK(plan.capacity.front().ideal_bytes_per_request ==
        15 * std::int64_t(1024) * 32'768 + 45 * std::int64_t(2'134'016));
  CHECK(plan.one_token_request_bytes == (1 + 3 * 2) * block_bytes);
  CHECK(plan.num_blocks() == 1334);
  CHECK(plan.max_running_requests == 1333 / 7);
  CHECK(plan.max_running_requests_by_states == 1333 / 6);
}

TEST_CASE("golden: an ideal window holds no more than itself") {
  ModelSpec model;
  model.layers = {{sliding_attention(2, 8, 100), std::nullopt}};
  const CachePlan plan = make_plan(model, {.memory_bytes = gib}, {.max_model_lens = {50, 1000}});
  const std::int64_t token = 2 * 16 * 2;
  CHECK(plan.capacity[0].ideal_bytes_per_request == 50 * token);
  CHECK(plan.capacity[1].ideal_bytes_per_request == 100 * token);
  CHECK(plan.max_running_requests_by_states == 0);
}

TEST_CASE("golden: blocks in memory, with and without bytes outside the page") {
  CHECK(blocks_in_memory(40 * gib, 2'146'304, 15, 0) == 1334);
  CHECK(blocks_in_memory(99, 10, 3, 0) == 3);
  CHECK(blocks_in_memory(9, 10, 1, 0) == 0);
  // GLM-5.3-Flash: 11 pools of 655,360-byte pages, 11 indexers of 33 B a token at block 640, 11802 blocks in 81.79 GiB.
  const std::int64_t indexers = 11 * 33 * 640;
  const std::int64_t memory = 11'802 * (11 * std::int64_t(655'360) + indexers);
  CHECK(fmt::format("{:.2f}", static_cast<double>(memory) / static_cast<double>(gib)) == "81.79");
  CHECK(blocks_in_memory(memory, 655'360, 11, indexers) == 11'802);
  CHECK(blocks_in_memory(memory - 1, 655'360, 11, indexers) == 11'801);
}

TEST_CASE("edge: a single block is the null block") {
  ModelSpec model;
  model.layers = {{full_attention(2, 8), std::nullopt}};
  EngineSpec engine;
  engine.num_blocks = 1;
  const CachePlan plan = make_plan(model, engine, {.max_model_lens = {16}});
  CHECK(plan.capacity.front().fits);
  CHECK(plan.usable_blocks() == 0);
  CHECK(plan.max_fitting_tokens == 0);
  CHECK(plan.max_running_requests == 0);
  CHECK(plan.waste.at_load.sequence_tokens.empty());
}

TEST_CASE("edge: without a bound by length the longest request is the longest length there is") {
  const ModelSpec states = hybrid_model("states", 4, full_attention(1, 8), qwen_gdn(1, 1), [](auto) { return false; });
  CHECK(make_plan(states, {.memory_bytes = gib}, {.max_model_lens = {1024}}).max_fitting_tokens == largest_tokens);
}

TEST_CASE("regression: KV cache tokens beyond 64 bits are an error") {
  ModelSpec model = hybrid_model("states", 1, full_attention(1, 1),
                                 Mamba2Spec{.heads = 1, .head_dim = 1, .state_size = 1}, [](auto) { return false; });
  EngineSpec engine;
  engine.num_blocks = std::int64_t(1) << 50;
  CHECK_THROWS_WITH_AS(make_plan(model, engine, {.max_model_lens = {largest_tokens}}),
                       doctest::Contains("too large for 64 bits"), InputError);
}

TEST_CASE("law: the longest request fits the usable blocks, one token more does not") {
  CHECK(check_plans("longest request", 5'000, SpecSize::real, [](const RandomSpecs&, const CachePlan& plan) {
    const std::int64_t longest = plan.max_fitting_tokens;
    if (longest > 0) RC_ASSERT(request_demand(plan, longest).total() <= plan.usable_blocks());
    if (longest < longest_context(plan)) RC_ASSERT(request_demand(plan, longest + 1).total() > plan.usable_blocks());
    RC_ASSERT(longest_request(plan) == longest);
  }));
}

TEST_CASE("law: the longest request is that of a plain search over all lengths, however many share the ids") {
  for (const SpecSize size : {SpecSize::real, SpecSize::tiny})
    CHECK(check_plans("longest request by search", 4'000, size, [](const RandomSpecs&, const CachePlan& plan) {
      const double requests = static_cast<double>(*rc::gen::inRange(4, 41)) / 4;
      for (const double wanted : {1.0, requests}) {
        const auto holds = [&](std::int64_t tokens) {
          const Demand demand = request_demand(plan, tokens);
          for (std::size_t arena = 0; arena < plan.arenas.size(); ++arena)
            if (demand.ids[arena] >
                static_cast<std::int64_t>(static_cast<double>(plan.arenas[arena].usable_ids()) / wanted))
              return false;
          return true;
        };
        std::int64_t fits = 0, too_long = longest_context(plan) + 1;
        while (too_long - fits > 1) {
          const std::int64_t middle = fits + (too_long - fits) / 2;
          (holds(middle) ? fits : too_long) = middle;
        }
        RC_ASSERT(longest_request(plan, wanted) == fits);
      }
    }, Strategies::all));
}

TEST_CASE("law: blocks and concurrency never fall as memory grows") {
  CHECK(check_plans("memory", 2'000, SpecSize::real, [](const RandomSpecs& specs, const CachePlan& plan) {
    RandomSpecs richer = specs;
    if (specs.engine.num_blocks)
      *richer.engine.num_blocks += *rc::gen::inRange<std::int64_t>(0, 1000);
    else
      richer.engine.memory_bytes += *rc::gen::inRange<std::int64_t>(0, 20 * gib);
    const CachePlan more = plan_of(richer);
    RC_ASSERT(more.num_blocks() >= plan.num_blocks());
    RC_ASSERT(more.max_fitting_tokens >= plan.max_fitting_tokens);
    RC_ASSERT(more.max_running_requests >= plan.max_running_requests);
    for (std::size_t i = 0; i < plan.capacity.size(); ++i) {
      RC_ASSERT(more.capacity[i].blocks_per_request == plan.capacity[i].blocks_per_request);
      RC_ASSERT(more.capacity[i].max_concurrency >= plan.capacity[i].max_concurrency);
      RC_ASSERT(more.capacity[i].kv_cache_tokens >= plan.capacity[i].kv_cache_tokens);
    }
  }));
}

TEST_CASE("law: pools and what is left over are the memory, less than one block id is left") {
  CHECK(check_plans("memory is accounted for", 5'000, SpecSize::real,
                    [](const RandomSpecs& specs, const CachePlan& plan) {
                      if (specs.engine.num_blocks) {
                        RC_ASSERT(plan.waste.unallocated_bytes == 0);
                        return;
                      }
                      std::int64_t pools = 0;
                      for (const PoolPlan& pool : plan.pools) pools += pool.bytes;
                      RC_ASSERT(pools + plan.waste.unallocated_bytes == specs.engine.memory_bytes);
                      RC_ASSERT(plan.waste.unallocated_bytes >= 0);
                      RC_ASSERT(plan.waste.unallocated_bytes < plan.arenas.front().bytes_per_id);
                    }));
}

TEST_CASE("law: paging never costs less than the ideal, a shorter request never more") {
  CHECK(check_plans("bytes of a request", 5'000, SpecSize::real, [](const RandomSpecs& specs, const CachePlan& plan) {
    for (const CapacityPlan& capacity : plan.capacity) {
      RC_ASSERT(capacity.ideal_bytes_per_request <= capacity.bytes_per_request);
      RC_ASSERT(plan.one_token_request_bytes <= capacity.bytes_per_request);
      RC_ASSERT(capacity.usable_concurrency <= capacity.max_concurrency);
      RC_ASSERT(capacity.fits == (plan.num_blocks() >= capacity.blocks_per_request));
      RC_ASSERT(capacity.max_model_len <= largest_length(specs.limits));
    }
  }));
}
