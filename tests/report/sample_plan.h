#pragma once

#include "planner/plan.h"
#include "tests/planner/models.h"

namespace hybridkv::testing {

/// Six layers, gdn and full attention in turn. By hand, N = 2, one rank, mode align, 1 MiB, 1,000 tokens:
/// a1 = (16 + 16) * 2 = 64; M = 3 * 128 * 2 + 4 * 16 * 16 * 4 = 4,864; B = 16 * ceil(4864 / (16 * 2 * 64)) = 48;
/// P = 2 * 48 * 64 = 6,144; 2 packs (one short), 3 states, so g = 2 and groups 2 gdn + 1 attention; 85 blocks;
/// a request takes 21 + 2 * 2 = 25 ids of 2 * 6,144 bytes = 307,200 bytes; ideally 3 * 64,000 + 3 * 4,864 = 206,592.
inline ModelSpec tiny_model() {
  ModelSpec model =
      hybrid_model("tiny", 6, AttentionSpec{.query_heads = 2, .kv_heads = 1, .head_size_k = 16, .head_size_v = 16},
                   GdnSpec{2, 4, 16, 16, 4}, [](std::int64_t i) { return i % 2 == 1; });
  model.ssm_dtype = DType::fp32;
  return model;
}

/// Plans of the tiny model. What the planner says in words is replaced, so that a test of the form does not depend on
/// it.
inline PlanSet tiny_plans(std::span<const std::int64_t> packs, std::vector<std::int64_t> lengths = {1000}) {
  EngineSpec engine;
  engine.cache_mode = CacheMode::align;
  engine.memory_bytes = 1 << 20;
  LimitsSpec limits;
  limits.max_model_lens = std::move(lengths);
  PlanSet set = make_plans(tiny_model(), engine, limits, packs);
  for (CachePlan& plan : set.plans) {
    const std::int64_t block = plan.specs.back().block_size_tokens;
    plan.workspace = WorkspacePlan{{8192, 10000, 128, 64, DType::bf16}, 20971520000, 134217728, 329252864};
    plan.warnings = {{"short_pack", "the last pack is short"}};
    plan.derivation = {
        {{"M", std::int64_t{4864}, "bytes"}, "M = sum of the tensors, per layer", {}, "vLLM MambaStateShapeCalculator"},
        {{"B", block, "tokens"},
         "B = A * ceil(M / (A * N * a1))",
         {{"A", std::int64_t{16}, "tokens"},
          {"M", std::int64_t{4864}, "bytes"},
          {"N", plan.attention_pack_size, ""},
          {"a1", std::int64_t{64}, "bytes"}},
         "vLLM PR 35703"},
        {{"ids", std::int64_t{25}, "blocks"},
         "ids = sum over the groups",
         {{"gdn group", std::int64_t{2}, "blocks"},
          {"gdn group", std::int64_t{2}, "blocks"},
          {"full_attention group", std::int64_t{21}, "blocks"}},
         "vLLM max_memory_usage_bytes, get_max_concurrency_for_kv_cache_config"},
        {{"max concurrency", 3.4, ""},
         "max_concurrency = num_blocks / ids (as engines print it)",
         {{"num_blocks", std::int64_t{85}, "blocks"}, {"ids", std::int64_t{25}, "blocks"}},
         "vLLM max_memory_usage_bytes, get_max_concurrency_for_kv_cache_config"}};
  }
  return set;
}

}  // namespace hybridkv::testing
