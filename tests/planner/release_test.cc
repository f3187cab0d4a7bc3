#include "planner/engine_rules.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "engines/vllm/rules.h"
#include "planner/backend_profile.h"
#include "planner/block_size.h"
#include "planner/plan.h"
#include "tests/planner/at_32k.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

EngineSpec engine_0_33(BackendProfile profile = BackendProfile::sm90) {
  return {.rules = &rules_of_vllm_0_33,
          .backend_profile = profile,
          .tensor_parallel = 2,
          .cache_mode = CacheMode::align,
          .memory_bytes = 40 * gib};
}

}  // namespace

TEST_CASE("golden: one question under two releases, as the issue has it") {
  EngineSpec june = engine_0_33();
  june.rules = &rules_of_vllm_2026_06;
  june.backend_profile.reset();
  const CachePlan before = make_plan(qwen35_397b(), june, at_32k);
  const CachePlan after = make_plan(qwen35_397b(), engine_0_33(), at_32k);
  CHECK(before.specs.front().block_size_tokens == 2096);
  CHECK(after.specs.front().block_size_tokens == 2112);
  CHECK(before.capacity.front().blocks_per_request == 22);
  CHECK(after.capacity.front().blocks_per_request == 25);
  CHECK(before.capacity.front().kv_cache_tokens == 1'986'932);
  CHECK(after.capacity.front().kv_cache_tokens == 1'734'082);
  CHECK(after.pools.size() == 1);
  CHECK(before.pools.size() == 15);
}

TEST_CASE("golden: ids of a request by what they are for add up, and each follows its cause") {
  EngineSpec engine = engine_0_33();
  engine.speculative_tokens = 2;
  engine.mtp_layers = 1;
  const CachePlan plan = make_plan(qwen35_397b(), engine, at_32k);
  const IdsByCause causes = plan.capacity.front().ids_by_cause;
  CHECK(causes == IdsByCause{.tokens = 16, .states = 6, .speculative = 6, .checkpoints = 3});
  CHECK(plan.capacity.front().blocks_per_request == 16 + 6 + 6 + 3);
  // A window of 128 beside 16,384 tokens in flight: 9 blocks are its own.
  ModelSpec windowed;
  AttentionSpec window = sliding_attention(8, 64, 128);
  windowed.layers = {{window, std::nullopt}, {full_attention(8, 64), std::nullopt}};
  const CachePlan of_windows = make_plan(windowed, engine_0_33(), at_32k);
  CHECK(of_windows.capacity.front().ids_by_cause ==
        IdsByCause{.tokens = 2048 + 9, .in_flight_window = (127 + 16'384 + 15) / 16 + 1 - 9});
}

TEST_CASE("edge: the null block is reserved before a request fits") {
  EngineSpec engine = engine_0_33();
  engine.num_blocks = 25;
  CHECK(path_of_refusal(engine) == "engine.num_blocks");
  engine.num_blocks = 26;
  CHECK(path_of_refusal(engine) == "accepted");
  engine.rules = &rules_of_vllm_2026_06;
  engine.backend_profile.reset();
  engine.num_blocks.reset();
  engine.memory_bytes = 22 * 15 * std::int64_t{2'146'304};
  CHECK(path_of_refusal(engine) == "accepted");
  engine.memory_bytes -= 1;
  CHECK(path_of_refusal(engine) == "engine.memory");
}

TEST_CASE("edge: what a release does not have is refused with its key") {
  EngineSpec engine = engine_0_33();
  engine.cache_mode = CacheMode::all;
  CHECK(path_of_refusal(engine) == "engine.cache_mode");
  engine = engine_0_33();
  engine.physical_order = PhysicalOrder::head_major;
  CHECK(path_of_refusal(engine) == "engine.physical_order");
  engine = engine_0_33();
  engine.cache_order = CacheOrder::bhlnc;
  CHECK(path_of_refusal(engine) == "engine.physical_order");
  engine = engine_0_33(BackendProfile::sm100_flashinfer);
  engine.cache_order = CacheOrder::lbnhc;
  CHECK(path_of_refusal(engine) == "engine.physical_order");
  engine = engine_0_33();
  engine.pipeline_parallel = 2, engine.pipeline_rank = 2;
  CHECK(path_of_refusal(engine) == "engine.pipeline_rank");
  engine.pipeline_rank = 1, engine.pipeline_layers = {30, 31};
  CHECK(path_of_refusal(engine) == "engine.pipeline_layers");
  engine.pipeline_layers = {16, 44};
  CHECK(path_of_refusal(engine) == "accepted");
  engine = engine_0_33();
  engine.decode_context_parallel = 3;
  CHECK(path_of_refusal(engine) == "engine.decode_context_parallel");
  EngineSpec june{.tensor_parallel = 2, .memory_bytes = 40 * gib};
  june.cache_order = CacheOrder::blnhc;
  CHECK(path_of_refusal(june) == "engine.physical_order");
  // What says the same twice is taken.
  for (const auto& [physical, same] : {std::pair(PhysicalOrder::nhd, CacheOrder::lbnhc),
                                       std::pair(PhysicalOrder::hnd, CacheOrder::lbhnc)})
    for (const CacheOrder order : {CacheOrder::lbnhc, CacheOrder::lbhnc}) {
      june.physical_order = physical, june.cache_order = order;
      CHECK(path_of_refusal(june) == (order == same ? "accepted" : "engine.physical_order"));
    }
  june.physical_order = PhysicalOrder::head_major, june.cache_order = CacheOrder::lbnhc;
  CHECK(path_of_refusal(june) == "engine.physical_order");
  june.physical_order = EngineSpec{}.physical_order, june.cache_order.reset();
  june.pipeline_parallel = 2;
  CHECK(path_of_refusal(june) == "engine.pipeline_parallel");
  june.pipeline_parallel = 1;
  june.hybrid_manager = false;
  CHECK(path_of_refusal(june) == "engine.hybrid_manager");
}

TEST_CASE("golden: what a profile declares decides blocks, and every value of it can be overridden") {
  const auto block = [](EngineSpec engine) {
    return make_plan(qwen35_397b(), engine, at_32k).specs.front().block_size_tokens;
  };
  CHECK(block(engine_0_33(BackendProfile::sm80)) == 2096);
  CHECK(block(engine_0_33(BackendProfile::sm90)) == 2112);
  CHECK(block(engine_0_33(BackendProfile::sm100_fa4)) == 2176);
  EngineSpec engine = engine_0_33();
  engine.checkpoint_alignment_tokens = 1;
  CHECK(block(engine) == 2096);
  engine = engine_0_33(BackendProfile::sm80);
  engine.kernel_alignment_tokens = 128;
  CHECK(block(engine) == 2176);
  engine = engine_0_33(BackendProfile::sm80);
  engine.checkpoint_blocks = 1;
  CHECK(make_plan(qwen35_397b(), engine, at_32k).capacity.front().blocks_per_request == 25);
}

TEST_CASE("golden: latents take the grain that their backend declares, in June too") {
  EngineSpec engine{.tensor_parallel = 16, .num_blocks = 82};
  const auto grain_source = [&] {
    const CachePlan plan = make_plan(kimi_k3(), engine, {.max_model_lens = {1024}});
    for (const Decision& decision : plan.derivation)
      if (decision.result.symbol == "A")
        return fmt::format("{}: {}", std::get<std::int64_t>(decision.result.value), decision.source);
    return std::string("no grain");
  };
  CHECK(grain_source() == "16: vLLM HybridAttentionMambaModelConfig");
  engine.backend_profile = BackendProfile::flashmla;
  CHECK(grain_source() == "64: vLLM HybridAttentionMambaModelConfig; kernel blocks: FlashMLA");
  engine.backend_profile = BackendProfile::cutlass_mla;
  CHECK(grain_source() == "128: vLLM HybridAttentionMambaModelConfig; kernel blocks: CUTLASS MLA");
}

TEST_CASE("golden: match units of groups with blocks of their own size, of one group, and of the user") {
  EngineSpec engine = engine_0_33(BackendProfile::sm80);
  engine.prefix_match_unit_tokens = 16;
  const PrefixPlan fine = make_plan(qwen35_397b(), engine, at_32k).prefix;
  CHECK(fine.scheduler_block_tokens == 2096);
  CHECK(fine.hash_block_tokens == 16);
  CHECK(fine.match_unit_tokens == 16);
  engine.prefix_match_unit_tokens = 24;
  const PrefixPlan refused = make_plan(qwen35_397b(), engine, at_32k).prefix;
  CHECK(refused.match_error.find("24 does not divide the block of 2096 tokens") != std::string::npos);
  engine.prefix_match_unit_tokens = 8;
  ModelSpec dense;
  dense.layers.assign(2, {full_attention(8, 128), std::nullopt});
  const PrefixPlan one_group = make_plan(dense, engine, at_32k).prefix;
  CHECK(one_group.match_unit_tokens == 16);
  CHECK(one_group.match_error.find("8 is not the block of 16 tokens") != std::string::npos);
  engine.prefix_match_unit_tokens = 16;
  CHECK(make_plan(dense, engine, at_32k).prefix.match_error.empty());
  engine.prefix_match_unit_tokens = 8;
  engine.cache_mode = CacheMode::none;
  CHECK(make_plan(dense, engine, at_32k).prefix.match_error.empty());
}

TEST_CASE("golden: states alone lie in any order, whatever the backend of attention reads") {
  ModelSpec model;
  model.layers.assign(4, {std::nullopt, Mamba1Spec{.inner_size = 64, .state_size = 16, .conv_kernel = 4}});
  EngineSpec engine = engine_0_33(BackendProfile::sm100_flashinfer);
  CHECK(make_plan(model, engine, at_32k).cache_order == CacheOrder::lbnhc);
  engine.cache_order = CacheOrder::lhbnc;
  CHECK(make_plan(model, engine, at_32k).cache_order == CacheOrder::lhbnc);
}

TEST_CASE("golden: what FlashAttention and FlashInfer take of latents, and that both export") {
  EngineSpec engine = engine_0_33(BackendProfile::flash_attn_mla);
  engine.tensor_parallel = 16;
  ModelSpec model = kimi_k3();
  model.kda_exports_states = true;
  const auto plan = [&](BackendProfile profile) {
    engine.backend_profile = profile;
    return make_plan(model, engine, at_32k);
  };
  const auto kernel_block = [&](BackendProfile profile) {
    for (const SpecPlan& spec : plan(profile).specs)
      if (spec.attention) return spec.kernel_block_size_tokens;
    return std::int64_t{0};
  };
  CHECK(kernel_block(BackendProfile::flashinfer_mla) == 64);
  const CachePlan any = plan(BackendProfile::flash_attn_mla);
  CHECK(kernel_block(BackendProfile::flash_attn_mla) == any.specs.back().block_size_tokens);
  for (const BackendProfile profile : {BackendProfile::flash_attn_mla, BackendProfile::flashinfer_mla})
    CHECK(plan(profile).capacity.front().ids_by_cause.checkpoints == 3);
  CHECK(plan(BackendProfile::sm90).capacity.front().ids_by_cause.checkpoints == 0);
}

TEST_CASE("edge: a backend for latents is refused for a model without any, with one that plans") {
  std::int64_t refused = 0;
  for (const BackendProfile profile : all_backend_profiles) {
    const std::optional<BackendProfile> other = facts_of(profile).without_latents;
    CHECK(path_of_refusal(engine_0_33(profile)) == (other ? "engine.backend_profile" : "accepted"));
    if (!other) continue;
    ++refused;
    CHECK(path_of_refusal(engine_0_33(*other)) == "accepted");
    EngineSpec engine = engine_0_33(profile);
    engine.tensor_parallel = 16;
    CHECK(path_of_refusal(engine, kimi_k3()) == "accepted");
  }
  CHECK(refused == 4);
}

TEST_CASE("edge: other memory for a stage is other memory for all, in proportion") {
  EngineSpec engine{.pipeline_memory_bytes = {100, 300}, .memory_bytes = 100};
  set_memory(engine, 50);
  CHECK(engine.memory_bytes == 50);
  CHECK(engine.pipeline_memory_bytes == std::vector<std::int64_t>{50, 150});
}

TEST_CASE("golden: a model that a release has no class for is planned with a warning that names both") {
  ModelSpec model = qwen35_397b();
  const auto warning = [&](const EngineSpec& engine) {
    for (const Warning& one : make_plan(model, engine, at_32k).warnings)
      if (one.code == "not_served") return one.message;
    return std::string("none");
  };
  CHECK(warning(engine_0_33()) == "none");
  for (const auto& [name, architecture] :
       {std::pair{"Bamba-9B", "BambaForCausalLM"}, {"MiniMax-Text-01", "MiniMaxText01ForCausalLM"},
        {"MiniMax-M1-80k", "MiniMaxM1ForCausalLM"}, {"plamo-2-1b", "Plamo2ForCausalLM"}}) {
    model.name = name;
    CHECK(warning(engine_0_33()) ==
          fmt::format("vLLM 0.33.0 does not serve {}, which {} is: it does not start with it; take another release",
                      architecture, name));
    EngineSpec june = engine_0_33();
    june.rules = &rules_of_vllm_2026_06;
    june.backend_profile.reset();
    CHECK(warning(june) == "none");
  }
}
