#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "engines/llama_cpp/rules.h"
#include "engines/sglang/rules.h"
#include "engines/tensorrt_llm/rules.h"
#include "engines/vllm/rules.h"
#include "planner/plan.h"
#include "planner/tree_settings.h"
#include "planner/group_settings.h"
#include "planner/row_settings.h"
#include "tests/planner/models.h"

namespace hybridkv::testing {

/// A question whose plan derives numbers that others do not.
struct DerivedCase {
  std::string name;
  ModelSpec model;
  EngineSpec engine;
  LimitsSpec limits{.max_model_lens = {8192, 32'768}};
};

namespace derived_detail {

inline EngineSpec engine_of(CacheMode mode, std::int64_t pack, std::int64_t ranks = 1) {
  return {.tensor_parallel = ranks, .cache_mode = mode, .attention_pack_size = pack, .memory_bytes = 60 * gib};
}

inline ModelSpec with_windows(ModelSpec model, AttentionKind kind) {
  for (std::size_t i = 0; i < model.layers.size(); i += 3)
    if (model.layers[i].attention) {
      model.layers[i].attention->kind = kind;
      model.layers[i].attention->window_tokens = 1000;
    }
  return model;
}

/// Plans of one allocation: models with and without states, in all orders that they have.
inline void add_allocations(std::vector<DerivedCase>& all) {
  const auto add = [&](const std::string& name, const ModelSpec& model, CacheOrder order,
                       CacheMode mode) -> DerivedCase& {
    all.push_back({fmt::format("vLLM 0.33, {}, {}, {}", name, to_string(order), to_string(mode)), model,
                   engine_of(mode, 1, 2)});
    all.back().engine.rules = &rules_of_vllm_0_33;
    all.back().engine.backend_profile = BackendProfile::sm90;
    all.back().engine.cache_order = order;
    return all.back();
  };
  const ModelSpec dense =
      hybrid_model("dense", 12, full_attention(8, 128, 32), GdnSpec{}, [](auto) { return true; });
  for (const CacheOrder order : all_cache_orders) {
    add("dense", dense, order, CacheMode::align);
    if (order == CacheOrder::lhbnc || order == CacheOrder::bhlnc) continue;
    for (const CacheMode mode : {CacheMode::none, CacheMode::align}) {
      add("gdn", qwen35_397b(), order, mode);
      add("both kinds", falcon_h1_3b(), order, mode);
    }
    add("windows", with_windows(qwen35_397b(), AttentionKind::sliding_window), order, CacheMode::align);
    add("chunks", with_windows(falcon_h1_3b(), AttentionKind::chunked_local), order, CacheMode::align);
    if (order == CacheOrder::blnhc || order == CacheOrder::blhnc) {
      DerivedCase& sparse = add("mla, indexer, ring", glm_flash(), order, CacheMode::align);
      sparse.model.ring_tokens = 4;
      sparse.model.ring_bytes_per_token = 512;
      ModelSpec partial = dense;
      for (std::size_t i = 3; i < partial.layers.size(); ++i)
        partial.layers[i].attention->indexer = IndexerSpec{132, 16};
      add("indexers of some layers, for 16 tokens", partial, order, CacheMode::align);
      add("latents with a window", with_windows(kimi_k3(), AttentionKind::mla), order, CacheMode::align);
    }
    DerivedCase& drafted = add("a draft of other pages", qwen35_397b(), order, CacheMode::align);
    drafted.engine.speculative_tokens = 1;
    drafted.engine.draft = DraftSpec{1, full_attention(8, 128, 32)};
    DerivedCase& staged = add("the second of two stages, ranks that share tokens, a match unit", qwen35_27b(), order,
                       CacheMode::align);
    staged.engine.pipeline_parallel = 2;
    staged.engine.pipeline_rank = 1;
    staged.engine.decode_context_parallel = 2;
    staged.engine.prefix_match_unit_tokens = 64;
  }
  // Without a layer that sees every token there is no indexer.
  ModelSpec windows_alone = hybrid_model("windows alone", 12, sliding_attention(8, 128, 2048), GdnSpec{},
                                         [](auto) { return true; });
  add_indexers(windows_alone, {33});
  add("windows alone, indexer", windows_alone, CacheOrder::lbhnc, CacheMode::align);
  DerivedCase& split = add("kernel blocks", dense, CacheOrder::lbhnc, CacheMode::align);
  split.engine.backend_profile = BackendProfile::sm90_flashinfer;
  split.engine.block_size_tokens = 128;
}

/// Engines whose rules are read: pool groups in every mode, and rows by sequence.
inline void add_source_only(std::vector<DerivedCase>& all) {
  const auto add = [&](const char* name, const ModelSpec& model, const EngineRules* rules,
                       CacheMode mode) -> EngineSpec& {
    all.push_back({name, model, engine_of(mode, 1)});
    EngineSpec& engine = all.back().engine;
    engine.rules = rules;
    engine.strategy = rules->strategy;
    return engine;
  };
  add("pool groups", qwen35_397b(), &rules_of_tensorrt_llm, CacheMode::align).max_running_requests = 64;
  EngineSpec& none = add("pool groups without prefixes", granite_h_small(), &rules_of_tensorrt_llm, CacheMode::none);
  none.own.set(group_key::avg_seq_len, 1000);
  none.own.set(group_key::max_batch_size, 8);
  EngineSpec& first = add("pool groups of the first manager", qwen35_397b(), &rules_of_tensorrt_llm, CacheMode::align);
  first.own.set(group_key::use_kv_cache_manager_v2, false);
  first.own.set(group_key::periodic_snapshot_interval, 512);
  first.own.set(group_key::max_batch_size, 8);
  EngineSpec& offsets = add("pool groups with offsets", qwen35_397b(), &rules_of_tensorrt_llm, CacheMode::align);
  offsets.own.set(group_key::offsets_from_start, {512, 100'000});
  offsets.own.set(group_key::offsets_from_end, {0, 64});
  offsets.own.set(group_key::max_batch_size, 8);
  EngineSpec& latents = add("pool groups of latents", kimi_k3(), &rules_of_tensorrt_llm, CacheMode::align);
  latents.state_memory_ratio = 0.5;
  latents.own.set(group_key::max_batch_size, 8);
  add("pool groups as set", qwen35_397b(), &rules_of_tensorrt_llm, CacheMode::align).num_blocks = 5000;
  add("rows", qwen35_397b(), &rules_of_llama_cpp, CacheMode::align).speculative_tokens = 2;
  add("rows without checkpoints", kimi_k3(), &rules_of_llama_cpp, CacheMode::none).max_running_requests = 9;
}

inline void add_tree_pools(std::vector<DerivedCase>& all) {
  const auto add = [&](const char* name, const ModelSpec& model) -> EngineSpec& {
    all.push_back({name, model, engine_of(CacheMode::align, 1, 2)});
    all.back().engine.rules = &rules_of_sglang_0_5_23;
    all.back().engine.strategy = Strategy::dual_pool;
    return all.back().engine;
  };
  EngineSpec& elastic = add("radix pools, elastic, pages", qwen35_397b());
  elastic.own.set(tree_key::unified_memory, true);
  elastic.own.set(tree_key::page_size, 64);
  elastic.own.set(tree_key::max_total_tokens, 300'000);
  EngineSpec& drafted = add("radix pools, drafts", qwen35_397b());
  drafted.speculative_tokens = 4;
  drafted.mtp_layers = 1;
  drafted.max_running_requests = 48;
  EngineSpec& drafts_one = add("radix pools, one draft", qwen35_397b());
  drafts_one.speculative_tokens = 1;
  drafts_one.mtp_layers = 1;
  drafts_one.max_running_requests = 48;
  for (const ModelSpec& model : {qwen35_27b(), kimi_k3()}) {
    EngineSpec& replayed = add("radix pools, rings", model);
    replayed.speculative_tokens = 4;
    replayed.max_running_requests = 48;
    replayed.own.set(tree_key::linear_replayssm_spec, true);
  }
  add("radix pools, no buffer", granite_h_small())
      .own.set(tree_key::mamba_radix_cache_strategy, TreeStrategy::no_buffer);
  EngineSpec& sized = add("radix pools by size", lfm25());
  sized.own.set(tree_key::max_mamba_cache_size, 300);
  sized.own.set(tree_key::attention_data_parallel, 2);
  EngineSpec& plain = add("radix pools without a tree", falcon_h1_3b());
  plain.cache_mode = CacheMode::none;
  plain.max_running_requests = 12;
}

}  // namespace derived_detail

/// Every family, strategy, engine and setting that has a derivation of its own.
inline std::vector<DerivedCase> derived_cases() {
  using namespace derived_detail;
  std::vector<DerivedCase> all;
  for (CacheMode mode : {CacheMode::none, CacheMode::align, CacheMode::all})
    for (std::int64_t pack : {1, 4, 5})
      all.push_back({fmt::format("gdn {} N {}", to_string(mode), pack), qwen35_397b(), engine_of(mode, pack, 2)});
  all.push_back({"both kinds", falcon_h1_3b(), engine_of(CacheMode::align, 3)});
  all.push_back({"mla, kda", kimi_k3(), engine_of(CacheMode::align, 2, 4)});
  all.push_back({"mla, indexer, ring", glm_flash(), engine_of(CacheMode::align, 1)});
  ModelSpec two_indexers = glm_flash();
  two_indexers.layers[3].attention->indexer = IndexerSpec{132, 16};
  two_indexers.layers[7].attention->indexer.reset();
  all.push_back({"two indexers, of some layers", two_indexers, engine_of(CacheMode::align, 1)});
  all.push_back({"auxiliary conv, indexer", qwen38_flash_next(), engine_of(CacheMode::align, 1, 2)});
  all.push_back({"short_conv", lfm25(), engine_of(CacheMode::align, 2)});
  all.push_back({"mamba1", hybrid_model("mamba1", 32, full_attention(8, 128, 32),
                                        Mamba1Spec{.inner_size = 8192, .state_size = 16, .conv_kernel = 4},
                                        [](std::int64_t i) { return i % 8 == 4; }),
                 engine_of(CacheMode::all, 3)});
  all.push_back({"linear", hybrid_model("linear", 16, full_attention(8, 128, 32),
                                        LinearAttentionSpec{.heads = 64, .head_dim = 128},
                                        [](std::int64_t i) { return i % 8 == 7; }),
                 engine_of(CacheMode::none, 2)});
  all.push_back(
      {"windows", with_windows(qwen35_397b(), AttentionKind::sliding_window), engine_of(CacheMode::align, 2)});
  all.push_back({"chunks", with_windows(falcon_h1_3b(), AttentionKind::chunked_local), engine_of(CacheMode::all, 2)});
  all.push_back({"states alone",
                 hybrid_model("states", 4, full_attention(1, 8), qwen_gdn(2, 2), [](auto) { return false; }),
                 engine_of(CacheMode::none, 1)});
  DerivedCase drafted{"MTP, a draft, hidden states", qwen35_27b(), engine_of(CacheMode::align, 3)};
  drafted.engine.speculative_tokens = 3;
  drafted.engine.mtp_layers = 1;
  drafted.engine.draft = DraftSpec{5, sliding_attention(2, 256, 2048)};
  drafted.engine.hidden_state_size = 5120;
  all.push_back(drafted);
  DerivedCase padded{"padded heads, a draft of full attention, groups as asked", qwen35_27b(),
              engine_of(CacheMode::align, 1, 3)};
  padded.engine.pad_heads = true;
  padded.engine.layers_per_group = 12;
  padded.engine.speculative_tokens = 3;
  padded.engine.draft = DraftSpec{2, full_attention(8, 128, 32)};
  all.push_back(padded);
  for (const Strategy strategy : all_strategies) {
    // Those of engines that were read have cases of their own.
    if (strategy == Strategy::packed_attention || keeps_tensors_apart(strategy)) continue;
    const std::int64_t pack = strategy == Strategy::two_level ? 1 : 2;
    all.push_back({std::string(to_string(strategy)), qwen35_397b(), engine_of(CacheMode::all, pack, 2)});
    all.back().engine.strategy = strategy;
    all.back().engine.mamba_block_size_tokens = 256;
  }
  add_source_only(all);
  add_tree_pools(all);
  add_allocations(all);
  DerivedCase split{"kernel blocks, head-major, two loads", granite_h_small(), engine_of(CacheMode::align, 2, 2)};
  split.engine.kernel_block_sizes = {16, 32};
  split.engine.physical_order = PhysicalOrder::head_major;
  split.engine.token_rule = TokenRule::floor;
  split.limits.load_tokens = {1000, 17, 1000};
  all.push_back(split);
  for (const EngineRules* const rules : {&rules_of_vllm_2026_06, &rules_of_vllm_0_33}) {
    DerivedCase supposed{fmt::format("supposed rules, {}", rules->name), qwen35_397b(), engine_of(CacheMode::align, 1)};
    supposed.engine.rules = rules;
    supposed.engine.what_if.block_formula = "2 * A * ceil(M / (A * N * a1))";
    supposed.engine.what_if.page_bytes = 16 * mib;
    supposed.engine.what_if.states = {.first_byte = 100, .alignment = 256, .recurrent_first = true};
    all.push_back(supposed);
    supposed.name += ", groups";
    supposed.engine.what_if.groups.resize(6);
    for (std::int64_t layer = 0; layer < 60; ++layer)
      supposed.engine.what_if.groups[static_cast<std::size_t>(layer % 4 == 3 ? 5 : layer % 5)].push_back(layer);
    all.push_back(supposed);
  }
  DerivedCase counted{"blocks as set, a format with scales", granite_h_small(), engine_of(CacheMode::align, 1)};
  counted.engine.num_blocks = 5000;
  counted.engine.kv_format = KvFormat::int8_per_token_head;
  all.push_back(counted);
  return all;
}

inline PlanSet derived_plans(const DerivedCase& one) {
  const std::int64_t packs[] = {one.engine.attention_pack_size};
  return make_plans(one.model, one.engine, one.limits, packs, WorkspaceSpec{8192, 10000, 128, 64, DType::bf16});
}

}  // namespace hybridkv::testing
