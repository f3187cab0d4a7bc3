// Deployments whose models keep more than K, V and states of a pattern, from scenario to plan: every figure printed.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "planner/plan.h"
#include "scenario_text.h"

namespace hybridkv::test {

namespace {

struct Deployment {
  const char* row;  ///< of the published table
  const char* model;
  const char* engine;
  std::int64_t length;
  std::int64_t block, page, state, pools, ids, num_blocks, tokens;  ///< as printed; 0 where nothing was
};

const std::vector<Deployment> deployments{
    {"16", "Qwen3.5-27B", "cache_mode: align, speculative_tokens: 1, hidden_state_size: 5120, num_blocks: 458", 4096,
     800, 3276800, 3227648, 16, 36, 458, 52110},
    {"76", "LFM2.5-1.2B", "token_rule: floor, num_blocks: 24115", 1024, 16, 32768, 8192, 6, 66, 24115, 128608},
    {"82", "LFM2.5-1.2B", "kv_dtype: fp8, cache_mode: align, block_size_tokens: 16, memory: 13.33 GiB", 32768, 16,
     16384, 8192, 6, 2052, 0, 0},
    {"85", "Kimi-K3", "tensor_parallel: 16, kernel_alignment_tokens: 128, num_blocks: 82", 29696, 384, 442368, 407040,
     24, 81, 82, 30062},
    {"93", "GLM-5.3-Flash", "tensor_parallel: 8, cache_mode: align, kernel_alignment_tokens: 128, num_blocks: 11802",
     131072, 640, 655360, 542720, 11, 214, 11802, 7228559},
    {"105", "Qwen3.5-27B",
     "kv_dtype: turboquant_3bit_nc, cache_mode: align, speculative_tokens: 3, mtp_layers: 1, num_blocks: 50", 205000,
     4128, 3269376, 3268608, 17, 65, 50, 0},
    {"122", "Qwen3.5-9B", "kv_dtype: turboquant_4bit_nc, memory: 20 GiB", 1024, 2048, 2146304, 2146304, 8, 0, 0, 0},
    {"123", "Qwen3.5-27B",
     "tensor_parallel: 2, kv_dtype: int8_per_token_head, cache_mode: align, speculative_tokens: 3, mtp_layers: 1, "
     "memory: 20 GiB",
     262144, 1584, 1647360, 1634304, 17, 0, 0, 0},
    {"131", "Qwen3.8-Flash-Next", "cache_mode: align, speculative_tokens: 2, mtp_layers: 1, num_blocks: 730", 8192,
     1600, 3276800, 3248128, 13, 23, 730, 260006},
};

}  // namespace

TEST_CASE("golden: deployments with auxiliary groups, extras, latents and quantised caches, from their model files") {
  for (const Deployment& row : deployments) {
    CAPTURE(row.row);
    const Scenario scenario = read_text_as_scenario(
        std::string("model: ") + row.model + "\nengine: {release: vllm-2026-06, " + row.engine +
        "}\nlimits: {max_model_len: " + std::to_string(row.length) + "}\n");
    const CachePlan plan = make_plan(scenario.model, scenario.engine, scenario.limits);
    const auto printed = [](std::int64_t figure, std::int64_t planned) { return figure == 0 || figure == planned; };
    for (const SpecPlan& spec : plan.specs) {
      if (spec.auxiliary) continue;
      if (spec.attention) CHECK(spec.block_size_tokens == row.block);
      if (spec.state) CHECK(spec.state->bytes == row.state);
    }
    CHECK(plan.page_bytes() == row.page);
    CHECK(static_cast<std::int64_t>(plan.pools.size()) == row.pools);
    CHECK(printed(row.ids, plan.capacity.front().blocks_per_request));
    CHECK(printed(row.num_blocks, plan.num_blocks()));
    CHECK(printed(row.tokens, plan.capacity.front().kv_cache_tokens));
  }
}

TEST_CASE("golden: an indexer beside the pages takes its share of the memory") {
  const Scenario scenario = read_text_as_scenario(
      "model: GLM-5.3-Flash\nengine: {release: vllm-2026-06, tensor_parallel: 8, cache_mode: align, "
      "kernel_alignment_tokens: 128, memory: 81.791 GiB}\nlimits: {max_model_len: 131072}\n");
  const CachePlan plan = make_plan(scenario.model, scenario.engine, scenario.limits);
  CHECK(plan.num_blocks() == scenario.engine.memory_bytes / (11 * 655360 + 11 * 33 * 640));
  CHECK(plan.num_blocks() == 11802);
  REQUIRE(plan.extras.size() == 2);
  CHECK(plan.extras[0] == ExtraPlan{"indexer, 33 bytes a token and layer", 11 * 33 * 640, 0});
  CHECK(plan.extras[1] == ExtraPlan{"blocks of each request beside its tokens and states", 0, 1});
}

}  // namespace hybridkv::test
