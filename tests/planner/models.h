#pragma once

#include "planner/model_spec.h"

/// The two models of the published planning results, written out here so that these tests need no model file.
namespace hybridkv::testing {

inline ModelSpec hybrid_model(std::string name, std::int64_t num_layers, const AttentionSpec& attention,
                              const RecurrentSpec& recurrent, auto is_attention) {
  ModelSpec model;
  model.name = std::move(name);
  for (std::int64_t i = 0; i < num_layers; ++i) {
    LayerSpec layer;
    if (is_attention(i))
      layer.attention = attention;
    else
      layer.recurrent = recurrent;
    model.layers.push_back(layer);
  }
  return model;
}

inline ModelSpec qwen35_397b() {
  ModelSpec model = hybrid_model("Qwen3.5-397B-A17B", 60,
                                 AttentionSpec{.query_heads = 32, .kv_heads = 2, .head_size_k = 256, .head_size_v = 256},
                                 GdnSpec{16, 64, 128, 128, 4}, [](std::int64_t i) { return i % 4 == 3; });
  model.ssm_dtype = DType::fp32;
  return model;
}

inline ModelSpec granite_h_small() {
  return hybrid_model("Granite-4.0-H-small", 40,
                      AttentionSpec{.query_heads = 32, .kv_heads = 8, .head_size_k = 128, .head_size_v = 128},
                      Mamba2Spec{.heads = 128, .head_dim = 64, .state_size = 128, .groups = 1, .conv_kernel = 4,
                                 .chunk_size = 256},
                      [](std::int64_t i) { return i % 10 == 5; });
}

/// One full-attention and one recurrent layer whose page is 16 tokens; the smallest hybrid.
inline ModelSpec two_layer_model() {
  return hybrid_model("two-layer", 2,
                      AttentionSpec{.query_heads = 8, .kv_heads = 4, .head_size_k = 64, .head_size_v = 64},
                      GdnSpec{2, 2, 32, 32, 4}, [](std::int64_t i) { return i == 1; });
}

inline constexpr std::int64_t gib = std::int64_t(1) << 30;

}  // namespace hybridkv::testing
