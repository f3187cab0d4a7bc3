// Attention of unequal pages: what vLLM's unify_kv_cache_spec_page_size made of models with a draft of other heads.
// The numbers are those that vLLM 0.33 computed with a layer-outermost layout, whose rule is that of June 2026.
#include "planner/page_sizes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "engines/vllm/rules.h"
#include "planner/block_size.h"
#include "planner/plan.h"
#include "tests/planner/models.h"
#include "tests/planner/random_specs.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Windows and full attention in turn, every so many-th of them full: gpt-oss-20b and gemma-3-27b, where needed with
/// the heads of a draft's MTP layer.
ModelSpec windowed_model(std::int64_t layers, std::int64_t every, std::int64_t kv_heads, std::int64_t head_size,
                         std::int64_t window, const std::optional<AttentionSpec>& mtp) {
  ModelSpec model;
  model.name = "windows";
  for (std::int64_t i = 0; i < layers; ++i)
    model.layers.push_back({i % every == every - 1 ? full_attention(kv_heads, head_size)
                                                   : sliding_attention(kv_heads, head_size, window),
                            std::nullopt});
  model.mtp = mtp;
  return model;
}

std::vector<std::int64_t> blocks_of(const CachePlan& plan) {
  std::vector<std::int64_t> blocks;
  for (const SpecPlan& spec : plan.specs) blocks.push_back(spec.block_size_tokens);
  return blocks;
}

CachePlan plan_with_mtp(const ModelSpec& model, EngineSpec engine = {}) {
  engine.mtp_layers = 1;
  engine.memory_bytes = 60 * gib;
  return make_plan(model, engine, {.max_model_lens = {32'768}});
}

using Blocks = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("golden: layers of smaller heads take larger blocks beside a draft of larger ones (gpt-oss-20b)") {
  const CachePlan plan = plan_with_mtp(windowed_model(24, 2, 8, 64, 128, full_attention(8, 128)));
  CHECK(blocks_of(plan) == Blocks{32, 32, 16});
  CHECK(plan.page_bytes() == 65'536);
  CHECK(plan.pools.size() == 1);
  CHECK(plan.groups.size() == 25);
  CHECK(plan.prefix.match_unit_tokens == 32);
  for (const SpecPlan& spec : plan.specs) CHECK(spec.padding_percent == 0.0);
}

TEST_CASE("golden: a draft of smaller heads takes the larger block (gemma-3-27b), one that does not divide is padded") {
  const CachePlan grown = plan_with_mtp(windowed_model(62, 6, 16, 128, 1024, full_attention(8, 128)));
  CHECK(blocks_of(grown) == Blocks{16, 16, 32});
  CHECK(grown.page_bytes() == 131'072);
  CHECK(grown.groups.size() == 63);
  const CachePlan padded =
      plan_with_mtp(windowed_model(62, 6, 16, 128, 1024, full_attention(4, 96)), {.tensor_parallel = 2});
  CHECK(blocks_of(padded) == Blocks{16, 16, 16});
  CHECK(padded.page_bytes() == 65'536);
  CHECK(padded.specs[2].unpadded_page_bytes == 12'288);
}

TEST_CASE("golden: B follows from the model, the page from the largest draft, and states are padded to it") {
  // Qwen3.5-397B with three speculative tokens and one draft layer of 8 x 128: M = 4,341,760, a1 = 2,048 and 4,096.
  ModelSpec model = qwen35_397b();
  model.mtp = full_attention(8, 128, 32);
  const CachePlan plan = plan_with_mtp(model, {.cache_mode = CacheMode::align, .speculative_tokens = 3});
  CHECK(plan.specs[0].state->bytes == 4'341'760);
  CHECK(blocks_of(plan) == Blocks{2128, 4256, 2128});
  CHECK(plan.page_bytes() == 8'716'288);
  CHECK(plan.pools.size() == 1);
  CHECK(plan.groups.size() == 61);
  CHECK(plan.capacity.front().blocks_per_request == 361);  // 45 * (2 + 3) + 15 * ceil(32768 / 4256) + 16
}

TEST_CASE("golden: a draft of full attention is a group of its own, of the page that its heads ask for") {
  struct Row {
    const char* what;
    ModelSpec model;
    std::int64_t tensor_parallel;
    DraftSpec draft;
    Blocks blocks;
    std::size_t pools, groups;
    std::int64_t page_bytes, num_blocks, ids;
  };
  const ModelSpec gpt_oss = windowed_model(24, 2, 8, 64, 128, {}), gemma = windowed_model(62, 6, 16, 128, 1024, {});
  const DraftSpec eagle{1, full_attention(8, 128)}, odd{2, full_attention(4, 96)};
  const Row rows[] = {
      {"gpt-oss-20b", gpt_oss, 1, eagle, {32, 32, 16}, 1, 25, 65'536, 163'840, 20'540},
      {"gemma-3-27b", gemma, 1, eagle, {16, 16, 32}, 1, 63, 131'072, 81'920, 78'132},
      {"gemma-3-27b TP2", gemma, 2, odd, {16, 16, 16}, 2, 32, 65'536, 81'920, 40'602},
      {"Qwen3.5-397B", qwen35_397b(), 1, eagle, {2128, 4256, 2128}, 1, 61, 8'716'288, 1'231, 361},
      {"Qwen3.5-397B, a page that does not divide", qwen35_397b(), 1, odd, {2128, 2128, 2128}, 2, 32, 4'358'144, 1'231,
       259},
      {"Qwen3.5-27B", qwen35_27b(), 1, eagle, {800, 800, 800}, 1, 65, 3'276'800, 3'276, 937}};
  for (const Row& row : rows) {
    CAPTURE(row.what);
    EngineSpec engine{.tensor_parallel = row.tensor_parallel, .cache_mode = CacheMode::align, .speculative_tokens = 3};
    engine.draft = row.draft;
    engine.memory_bytes = 10 * gib;
    engine.max_num_batched_tokens = 16'384;  // what 0.33 keeps in flight
    const CachePlan plan = make_plan(row.model, engine, {.max_model_lens = {32'768}});
    CHECK(blocks_of(plan) == row.blocks);
    CHECK(plan.pools.size() == row.pools);
    CHECK(plan.groups.size() == row.groups);
    CHECK(plan.page_bytes() == row.page_bytes);
    CHECK(plan.num_blocks() == row.num_blocks);
    CHECK(plan.capacity.front().blocks_per_request == row.ids);
    CHECK(plan.specs.back().draft);
    CHECK(plan.spec_of(plan.groups.back()).draft);
    CHECK(plan.groups.back().layers().size() == static_cast<std::size_t>(row.draft.layers));
  }
}

TEST_CASE("regression: attention of unequal heads in one model is no longer padded, and costs what it must") {
  // Four times as many KV heads in every eighth layer: padded, the others would take 4 pages for the tokens of one.
  ModelSpec model;
  for (int i = 0; i < 16; ++i) model.layers.push_back({full_attention(i % 8 == 7 ? 8 : 2, 128), std::nullopt});
  const CachePlan plan = make_plan(model, {.memory_bytes = gib}, {.max_model_lens = {32'768}});
  CHECK(blocks_of(plan) == Blocks{64, 16});
  CHECK(plan.specs[0].block_size_tokens == plan.page_bytes() / plan.specs[0].bytes_per_token);
  CHECK(plan.capacity.front().bytes_per_request == plan.capacity.front().ideal_bytes_per_request);
}

TEST_CASE("golden: packs grow too, with the kernel block of the grown block") {
  ModelSpec model;
  for (int i = 0; i < 8; ++i) model.layers.push_back({full_attention(i < 4 ? 4 : 2, 64), std::nullopt});
  EngineSpec engine{.attention_pack_size = 2, .memory_bytes = gib};
  engine.kernel_block_sizes = {16, 32};
  const CachePlan plan = make_plan(model, engine, {.max_model_lens = {1024}});
  CHECK(blocks_of(plan) == Blocks{16, 32});
  CHECK(plan.specs[0].kernel_block_size_tokens == 16);
  CHECK(plan.specs[1].kernel_block_size_tokens == 32);
  CHECK(plan.specs[1].unpadded_page_bytes == plan.page_bytes());
}

TEST_CASE("law: a page of attention fills the largest one or does not divide it, and no block is below B") {
  CHECK(check_plans("unequal pages", 5'000, SpecSize::real, [](const RandomSpecs&, const CachePlan& plan) {
    std::int64_t largest = 0, smallest_block = std::numeric_limits<std::int64_t>::max();
    for (const SpecPlan& spec : plan.specs) {
      largest = std::max(largest, spec.unpadded_page_bytes);
      if (spec.attention) smallest_block = std::min(smallest_block, spec.block_size_tokens);
    }
    for (const SpecPlan& spec : plan.specs) {
      if (!spec.attention) continue;
      const std::int64_t token_bytes = spec.layers_per_page * spec.bytes_per_token;
      RC_ASSERT(spec.block_size_tokens % smallest_block == 0);
      if (spec.unpadded_page_bytes == largest)
        RC_ASSERT(spec.block_size_tokens == largest / token_bytes);
      else
        RC_ASSERT(spec.block_size_tokens == smallest_block && largest % (smallest_block * token_bytes) != 0);
    }
  }));
}

TEST_CASE("regression: hidden states of a block with a huge prime factor are sized at once") {
  EngineSpec engine{.tensor_parallel = 2, .cache_mode = CacheMode::align, .block_size_tokens = 34'359'738'352};
  engine.hidden_state_size = 300;
  engine.num_blocks = 1000;
  const CachePlan plan = make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}});
  CHECK(plan.specs.back().kind == "hidden_state");
  CHECK(plan.specs.back().block_size_tokens == 34'359'738'352);  // 600 bytes a token beside 1,024
  engine.hidden_state_size = 1024;
  CHECK(make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}}).specs.back().block_size_tokens ==
        17'179'869'176);
}

TEST_CASE("edge: a block beyond every length is refused with its number and a way out") {
  ModelSpec model = two_layer_model();
  model.layers[0].recurrent = LinearAttentionSpec{.heads = 1 << 20, .head_dim = 1 << 17};
  CHECK_THROWS_WITH_AS(make_plan(model, {.memory_bytes = gib}, {.max_model_lens = {1024}}),
                       doctest::Contains("engine.block_size_tokens: the block comes to "), SpecError);
}

TEST_CASE("edge: a block may be as long as any length, and no longer") {
  EngineSpec engine;
  engine.what_if.block_formula = std::to_string(largest_tokens);
  CHECK(uniform_block_size({}, ModelSpec{}, engine, {}) == largest_tokens);
  engine.what_if.block_formula += " + 16";
  CHECK_THROWS_WITH_AS(uniform_block_size({}, ModelSpec{}, engine, {}),
                       doctest::Contains("engine.what_if.block_formula: the block comes to 1099511627792 tokens, more "
                                         "than the 1099511627776 that any length may have"), SpecError);
}

namespace {

/// gpt-oss-20b where kernels take blocks of 16, 32 and 64 tokens, and the user's block is larger.
EngineSpec windows_beside_256(std::optional<CacheOrder> order = std::nullopt) {
  EngineSpec engine{.rules = &rules_of_vllm_0_33, .backend_profile = BackendProfile::sm90_flashinfer,
                    .cache_mode = CacheMode::align};
  engine.block_size_tokens = 256;
  engine.memory_bytes = 10 * gib;
  engine.cache_order = order;
  return engine;
}

}  // namespace

TEST_CASE("golden: a window begins with the largest kernel block, and grows to the page of the others (gpt-oss-20b)") {
  const ModelSpec gpt_oss = windowed_model(24, 2, 8, 64, 128, {});
  const LimitsSpec at_32k{.max_model_lens = {32'768}};
  const CachePlan padded = make_plan(gpt_oss, windows_beside_256(), at_32k);
  CHECK(blocks_of(padded) == Blocks{256, 256});
  // With the blocks outermost nothing has to grow.
  const CachePlan own = make_plan(gpt_oss, windows_beside_256(CacheOrder::blnhc), at_32k);
  CHECK(blocks_of(own) == Blocks{64, 256});
  // Pages differ while the order is chosen, though they come to the same size.
  CHECK_THROWS_WITH_AS(make_plan(gpt_oss, windows_beside_256(CacheOrder::lhbnc), at_32k),
                       "engine.physical_order: LHBNC is no order for these layers and their backends; valid: LBNHC, "
                       "LBHNC, BLNHC, BLHNC", SpecError);
  EngineSpec small = windows_beside_256(CacheOrder::lhbnc);
  small.block_size_tokens = 64;
  CHECK(blocks_of(make_plan(gpt_oss, small, at_32k)) == Blocks{64, 64});
}

TEST_CASE("law: the block of a window is a kernel block of at most B, and no larger one is") {
  EngineSpec engine = windows_beside_256();
  CHECK(window_block_size(256, engine, {}) == 64);
  CHECK(window_block_size(48, engine, {}) == 32);
  CHECK(window_block_size(8, engine, {}) == 16);
  engine.backend_profile = BackendProfile::sm80;
  CHECK(window_block_size(528, engine, {}) == 528);
}
