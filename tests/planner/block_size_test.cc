// Block and kernel block: vLLM HybridAttentionMambaModelConfig; packs: vLLM PR 35703.
#include "planner/block_size.h"

#include <doctest/doctest.h>

#include "tests/planner/models.h"
#include "tests/planner/random_specs.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

constexpr std::int64_t qwen_state = 2'134'016;     // Qwen3.5-397B at TP2, fp32 ssm
constexpr std::int64_t granite_state = 2'147'840;  // granite-4.0-h-small at TP1, bf16

std::int64_t block_of(const BlockSizeInputs& inputs, const EngineSpec& engine = {}) {
  return attention_block_size(inputs, engine, {});
}

std::int64_t kernel_block_of(std::int64_t block, std::vector<std::int64_t> sizes, std::int64_t alignment = 16) {
  EngineSpec engine;
  engine.kernel_block_sizes = std::move(sizes);
  engine.kernel_alignment_tokens = alignment;
  return kernel_block_size(block, false, engine, {});
}

std::string refusal(std::int64_t block, std::vector<std::int64_t> sizes, std::int64_t alignment = 16) {
  try {
    kernel_block_of(block, std::move(sizes), alignment);
  } catch (const SpecError& error) {
    return error.what();
  }
  return "accepted";
}

const SpecPlan* attention_of(const CachePlan& plan) {
  for (const SpecPlan& spec : plan.specs)
    if (spec.attention) return &spec;
  return nullptr;
}

}  // namespace

TEST_CASE("golden: a user block size is a floor and the rounding unit") {
  const BlockSizeInputs inputs{.state_bytes = qwen_state, .bytes_per_token = 1024};
  CHECK(block_of(inputs) == 2096);
  CHECK(block_of(inputs, {.block_size_tokens = 16}) == 2096);
  CHECK(block_of(inputs, {.block_size_tokens = 256}) == 2304);
  CHECK(block_of(inputs, {.block_size_tokens = 2096}) == 2096);
  CHECK(block_of(inputs, {.block_size_tokens = 4096}) == 4096);
}

TEST_CASE("golden: the grain is the larger of kernel block and user block") {
  CHECK(alignment_grain({}, {}, {}) == 16);
  CHECK(alignment_grain({.block_size_tokens = 48}, {}, {}) == 48);
  CHECK(alignment_grain({.block_size_tokens = 8}, {}, {}) == 16);
  CHECK(alignment_grain({.kernel_alignment_tokens = 64}, {}, {}) == 64);   // XPU
  CHECK(alignment_grain({.kernel_alignment_tokens = 128}, {}, {}) == 128); // CPU, newer MLA
  CHECK(alignment_grain({.block_size_tokens = 8, .kernel_alignment_tokens = 1}, {}, {}) == 8);
  CHECK(alignment_grain({.kernel_block_sizes = {64, 32}}, {}, {}) == 32);
  const BlockSizeInputs inputs{.state_bytes = qwen_state, .bytes_per_token = 1024};
  CHECK(block_of(inputs, {.kernel_alignment_tokens = 128}) == 2176);  // 128 * ceil(16.28)
}

TEST_CASE("rule: without attention no kernel's block is asked for, only in mode all the chunk of the scan") {
  const EngineSpec cpu{.kernel_alignment_tokens = 128};
  CHECK(block_of({.state_bytes = 8192}, cpu) == 16);
  CHECK(block_of({.checkpoint_tokens = 64, .state_bytes = 8192}, {.cache_mode = CacheMode::align}) == 16);
  CHECK(block_of({.state_bytes = 8192}, {.block_size_tokens = 48, .kernel_alignment_tokens = 128}) == 48);
  CHECK(block_of({.state_bytes = 8192, .scan_chunk_tokens = 256},
                 {.cache_mode = CacheMode::all, .kernel_alignment_tokens = 128}) == 256);
}

TEST_CASE("golden: packs divide the block in modes none and align") {
  const std::pair<std::int64_t, std::int64_t> expected[] = {{1, 2096}, {2, 1056}, {3, 704}, {4, 528},
                                                            {5, 432},  {8, 272},  {15, 144}};
  for (const auto& [pack, block] : expected) {
    const BlockSizeInputs inputs{.state_bytes = qwen_state, .bytes_per_token = 1024, .pack_size = pack};
    CHECK(block_of(inputs, {.cache_mode = CacheMode::none}) == block);
    CHECK(block_of(inputs, {.cache_mode = CacheMode::align}) == block);
  }
}

TEST_CASE("golden: mode all rounds to the chunk of the scan, packs included") {
  // C = lcm(256, 16) = 256; M / a1 = 524.4, M / (2 a1) = 262.2, M / (3 a1) = 174.8.
  const EngineSpec all{.cache_mode = CacheMode::all};
  BlockSizeInputs granite{.state_bytes = granite_state, .bytes_per_token = 4096, .scan_chunk_tokens = 256};
  const std::pair<std::int64_t, std::int64_t> expected[] = {{1, 768}, {2, 512}, {3, 256}, {4, 256}};
  for (const auto& [pack, block] : expected) {
    granite.pack_size = pack;
    CHECK(block_of(granite, all) == block);
  }
  granite.pack_size = 1;
  EngineSpec user = all;
  user.mamba_block_size_tokens = 100;  // C = lcm(100, 16) = 400
  CHECK(block_of(granite, user) == 800);
  user.block_size_tokens = 48;  // C = lcm(100, 48) = 1200
  CHECK(block_of(granite, user) == 1200);
  // gdn names no chunk: C = lcm(2048, 16), and M / a1 is exactly 2084.
  CHECK(block_of({.state_bytes = qwen_state, .bytes_per_token = 1024}, all) == 4096);
  CHECK(block_of({.state_bytes = qwen_state, .bytes_per_token = 1024, .pack_size = 2}, all) == 2048);
  EngineSpec own = all;
  own.mamba_block_size_tokens = 1;  // what the user sets wins over the default too
  CHECK(block_of({.state_bytes = qwen_state, .bytes_per_token = 1024}, own) == 2096);
}

TEST_CASE("golden: a state smaller than the page only pads (LFM2: block 16, padding 300 %)") {
  CHECK(block_of({.state_bytes = 8192, .bytes_per_token = 2048}) == 16);
  // The same 8192 bytes from a gdn layer: conv 2 x 1536 x 2 bytes and ssm 1024 x 2 bytes.
  const ModelSpec model = hybrid_model("LFM2-like", 2, full_attention(8, 64),
                                       GdnSpec{.key_heads = 256, .value_heads = 1024, .key_head_dim = 1,
                                               .value_head_dim = 1, .conv_kernel = 3},
                                       [](std::int64_t i) { return i == 0; });
  const CachePlan plan = make_plan(model, {.memory_bytes = gib}, {.max_model_lens = {1024}});
  CHECK(plan.specs[1].state->bytes == 8192);
  CHECK(plan.page_bytes() == 32768);
  CHECK(plan.specs[1].padding_percent == 300.0);
}

TEST_CASE("edge: attention alone and states alone") {
  CHECK(block_of({.bytes_per_token = 1024, .pack_size = 4}) == 16);
  CHECK(block_of({.bytes_per_token = 1024}, {.cache_mode = CacheMode::all, .block_size_tokens = 32}) == 32);
  CHECK(block_of({.state_bytes = 4096, .scan_chunk_tokens = 256}) == 16);
  CHECK(block_of({.state_bytes = 4096, .scan_chunk_tokens = 256}, {.cache_mode = CacheMode::all}) == 256);
}

TEST_CASE("regression: layers with different scan chunks get a common multiple") {
  const Mamba2Spec fine{.heads = 2, .head_dim = 8, .state_size = 8, .chunk_size = 96};
  Mamba2Spec coarse = fine;
  coarse.chunk_size = 256;
  ModelSpec model;
  model.layers = {{full_attention(1, 8), std::nullopt}, {std::nullopt, fine}, {std::nullopt, coarse}};
  const EngineSpec engine{.cache_mode = CacheMode::all, .memory_bytes = gib};
  CHECK(attention_of(make_plan(model, engine, {.max_model_lens = {1024}}))->block_size_tokens == 768);
}

TEST_CASE("golden: a layer that names no scan chunk counts as 2048 beside those that do, and explain says so") {
  const Mamba2Spec odd{.heads = 2, .head_dim = 8, .state_size = 8, .chunk_size = 96};
  ModelSpec model;
  model.layers = {{full_attention(1, 8), std::nullopt}, {std::nullopt, odd}, {std::nullopt, qwen_gdn(1, 1)}};
  const EngineSpec engine{.cache_mode = CacheMode::all, .memory_bytes = gib};
  CHECK(attention_of(make_plan(model, engine, {.max_model_lens = {1024}}))->block_size_tokens == 6144);  // lcm
  model.layers.erase(model.layers.begin() + 1);
  const CachePlan plan = make_plan(model, engine, {.max_model_lens = {1024}});
  const auto unit = std::find_if(plan.derivation.begin(), plan.derivation.end(),
                                 [](const Decision& decision) { return decision.result.symbol == "C"; });
  REQUIRE(unit != plan.derivation.end());
  CHECK(unit->inputs.front() == Term{"scan chunk (the default: the family names none)", std::int64_t{2048}, "tokens"});
}

TEST_CASE("golden: the kernel block is the block, or the largest supported size that divides it") {
  CHECK(kernel_block_of(2096, {}) == 2096);
  CHECK(kernel_block_of(528, {16, 32, 64}) == 16);
  CHECK(kernel_block_of(1056, {16, 32, 64}) == 32);
  CHECK(kernel_block_of(704, {64, 16, 32}) == 64);
  CHECK(kernel_block_of(704, {704}) == 704);
}

TEST_CASE("edge: a kernel block that does not divide is refused with the sizes and a way out") {
  CHECK(
      refusal(528, {32, 64}) ==
      "engine.kernel_block_sizes: none of the supported kernel blocks (32, 64) divides the block of 528 tokens; add a "
      "size that does (528 would), or set engine.block_size_tokens to a multiple of one of them");
  CHECK(
      refusal(40, {}, 16) ==
      "engine.kernel_alignment_tokens: the block of 40 tokens is no multiple of the smallest kernel block of 16; "
      "take a user block size that is a multiple of 16");
  EngineSpec engine{.tensor_parallel = 2, .block_size_tokens = 64, .memory_bytes = 40 * gib};
  engine.kernel_block_sizes = {32};
  CHECK(attention_of(make_plan(qwen35_397b(), engine, {.max_model_lens = {1024}}))->kernel_block_size_tokens == 32);
  engine.block_size_tokens = 40;  // 40 * ceil(52.1) = 2120
  CHECK_THROWS_AS(make_plan(qwen35_397b(), engine, {.max_model_lens = {1024}}), SpecError);
}

TEST_CASE("law: the page holds the state, the block is a multiple of grain and kernel block") {
  CHECK(check_plans("page and block", 5'000, SpecSize::real, [](const RandomSpecs& specs, const CachePlan& plan) {
    const std::int64_t grain = alignment_grain(specs.engine, {}, {});
    for (const SpecPlan& spec : plan.specs) {
      RC_ASSERT(plan.page_bytes() >= spec.unpadded_page_bytes);
      if (!spec.attention) continue;
      RC_ASSERT(spec.block_size_tokens % grain == 0);
      RC_ASSERT(spec.block_size_tokens % spec.kernel_block_size_tokens == 0);
      RC_ASSERT(spec.unpadded_page_bytes ==
                spec.layers_per_page * spec.block_size_tokens * spec.bytes_per_token);
    }
  }));
}

TEST_CASE("law: the block never grows with the pack") {
  CHECK(check_plans("block against pack", 500, SpecSize::real, [](const RandomSpecs& specs, const CachePlan& plan) {
    if (!attention_of(plan)) RC_DISCARD("no attention");
    std::int64_t last = std::numeric_limits<std::int64_t>::max();
    EngineSpec engine = specs.engine;
    engine.kernel_block_sizes.clear();
    engine.kernel_alignment_tokens = 1;
    engine.page_alignment_bytes = 1;
    engine.num_blocks = 1'000'000;
    engine.layers_per_group.reset();  // that many packs there may not be
    for (engine.attention_pack_size = 1; engine.attention_pack_size <= 16; ++engine.attention_pack_size) {
      const std::int64_t block = attention_of(make_plan(specs.model, engine, specs.limits))->block_size_tokens;
      RC_ASSERT(block <= last);
      last = block;
    }
  }));
}

TEST_CASE("edge: a kernel block that does not divide the block is the fault of the key that says it") {
  EngineSpec engine{.cache_mode = CacheMode::align, .kernel_alignment_tokens = 7, .memory_bytes = 40 * gib};
  CHECK_THROWS_WITH_AS(kernel_block_size(2096, false, engine, {}),
                       doctest::Contains("engine.kernel_alignment_tokens: the block of 2096 tokens"), SpecError);
}
