#pragma once

#include "planner/plan.h"
#include "tests/planner/models.h"

/// Small plans whose pools verification can fill in no time.
namespace hybridkv::testing {

/// Six attention and six gdn layers of a few KiB, N to a page, in `memory_bytes`.
inline CachePlan small_plan(std::int64_t pack_size, CacheMode mode = CacheMode::align, DType kv_dtype = DType::bf16,
                            std::int64_t memory_bytes = std::int64_t(64) << 20,
                            Strategy strategy = Strategy::packed_attention) {
  const ModelSpec model = hybrid_model(
      "small", 12, AttentionSpec{.query_heads = 4, .kv_heads = 2, .head_size_k = 16, .head_size_v = 16},
      GdnSpec{2, 4, 16, 16, 4}, [](std::int64_t i) { return i % 2 == 1; });
  EngineSpec engine;
  engine.cache_mode = mode;
  engine.kv_dtype = kv_dtype;
  engine.ssm_dtype = DType::fp32;
  engine.attention_pack_size = pack_size;
  engine.memory_bytes = memory_bytes;
  engine.strategy = strategy;
  return make_plan(model, engine, LimitsSpec{.max_model_lens = {256}});
}

/// Four layers of a few KiB that attend to an encoder of 100 tokens too.
inline CachePlan encoder_plan() {
  ModelSpec model = whisper_large();
  model.layers.resize(4);
  for (LayerSpec& layer : model.layers) {
    layer.attention = full_attention(2, 16, 4);
    layer.cross->query_heads = 4;
    layer.cross->kv_heads = 2;
    layer.cross->head_size_k = layer.cross->head_size_v = 16;
  }
  model.encoder_tokens = 100;
  EngineSpec engine;
  engine.memory_bytes = std::int64_t(64) << 20;
  return make_plan(model, engine, LimitsSpec{.max_model_lens = {256}});
}

}  // namespace hybridkv::testing
