#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "planner/indexers.h"
#include "planner/model_spec.h"

/// The architectures of the published planning results, written out here so that these tests need no model file.
/// What the publications leave open (query heads of most models) is left open here too.
namespace hybridkv::testing {

inline constexpr std::int64_t mib = std::int64_t(1) << 20;
inline constexpr std::int64_t gib = std::int64_t(1) << 30;

inline AttentionSpec full_attention(std::int64_t kv_heads, std::int64_t head_size, std::int64_t query_heads = 0) {
  return {.query_heads = query_heads, .kv_heads = kv_heads, .head_size_k = head_size, .head_size_v = head_size};
}

inline AttentionSpec sliding_attention(std::int64_t kv_heads, std::int64_t head_size, std::int64_t window) {
  AttentionSpec layer = full_attention(kv_heads, head_size);
  layer.kind = AttentionKind::sliding_window;
  layer.window_tokens = window;
  return layer;
}

/// Whisper large: 32 layers with 20 heads of 64, each of which attends to an encoder of 1500 tokens too.
inline ModelSpec whisper_large() {
  ModelSpec model;
  model.name = "whisper-large-v3";
  LayerSpec layer;
  layer.attention = full_attention(20, 64, 20);
  layer.cross = layer.attention;
  layer.cross->kind = AttentionKind::cross;
  model.layers.assign(32, layer);
  model.encoder_tokens = 1500;
  return model;
}

/// A gdn layer of the Qwen kind: head dims 128 and 128, conv 4.
inline GdnSpec qwen_gdn(std::int64_t key_heads, std::int64_t value_heads) {
  return {.key_heads = key_heads, .value_heads = value_heads, .key_head_dim = 128, .value_head_dim = 128,
          .conv_kernel = 4};
}

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

/// Every fourth layer with full attention, the others gdn, recurrent state in fp32.
inline ModelSpec qwen_hybrid(std::string name, std::int64_t num_layers, const AttentionSpec& attention,
                             const GdnSpec& recurrent) {
  ModelSpec model =
      hybrid_model(std::move(name), num_layers, attention, recurrent, [](std::int64_t i) { return i % 4 == 3; });
  model.ssm_dtype = DType::fp32;
  return model;
}

/// Layers as a pattern: M recurrent, * attention, anything else has no cache.
inline ModelSpec patterned_model(std::string name, std::string_view pattern, const AttentionSpec& attention,
                                 const RecurrentSpec& recurrent) {
  ModelSpec model;
  model.name = std::move(name);
  for (char letter : pattern) {
    LayerSpec layer;
    if (letter == '*') layer.attention = attention;
    if (letter == 'M') layer.recurrent = recurrent;
    model.layers.push_back(layer);
  }
  return model;
}

/// A model of which only the counts of layers are known.
inline ModelSpec counted_model(std::string name, std::int64_t num_recurrent, std::int64_t num_attention,
                               const AttentionSpec& attention, const RecurrentSpec& recurrent) {
  ModelSpec model = hybrid_model(std::move(name), num_recurrent + num_attention, attention, recurrent,
                                 [&](std::int64_t i) { return i >= num_recurrent; });
  model.layer_order_verified = false;
  return model;
}

/// Attention and a state in every layer.
inline ModelSpec parallel_model(std::string name, std::int64_t num_layers, const AttentionSpec& attention,
                                const RecurrentSpec& recurrent) {
  ModelSpec model;
  model.name = std::move(name);
  model.layers.assign(num_layers, LayerSpec{attention, recurrent});
  return model;
}

inline ModelSpec qwen35_397b() {
  return qwen_hybrid("Qwen3.5-397B-A17B", 60, full_attention(2, 256, 32), qwen_gdn(16, 64));
}

inline ModelSpec qwen3_next_80b() {
  ModelSpec model = qwen_hybrid("Qwen3-Next-80B-A3B", 48, full_attention(2, 256), qwen_gdn(16, 32));
  model.ssm_dtype.reset();  // as the model
  return model;
}

inline ModelSpec qwen35_27b() { return qwen_hybrid("Qwen3.5-27B", 64, full_attention(4, 256), qwen_gdn(16, 48)); }

inline ModelSpec granite_h_small() {
  return hybrid_model("granite-4.0-h-small", 40, full_attention(8, 128, 32),
                      Mamba2Spec{.heads = 128, .head_dim = 64, .state_size = 128, .groups = 1, .chunk_size = 256},
                      [](std::int64_t i) { return i % 10 == 5; });
}

inline ModelSpec granite_350m() {
  return counted_model("granite-4.0-h-350m", 28, 4, full_attention(4, 64),
                       Mamba2Spec{.heads = 48, .head_dim = 32, .state_size = 128, .groups = 1});
}

inline ModelSpec falcon_h1_3b() {
  return parallel_model("Falcon-H1-3B", 32, full_attention(2, 128),
                        Mamba2Spec{.heads = 32, .head_dim = 128, .state_size = 256, .groups = 1, .chunk_size = 128});
}

inline ModelSpec nemotron_nano_4b() {
  return patterned_model("Nemotron-3-Nano-4B", "M-M-M-MM-M-M*-M-M*-M-M-M*-M-M-MM*-MMM-M-M-", full_attention(8, 128),
                         Mamba2Spec{.heads = 96, .head_dim = 80, .state_size = 128, .groups = 8, .chunk_size = 256});
}

inline ModelSpec nemotron_nano_30b() {
  return patterned_model("Nemotron-3-Nano-30B-A3B", "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
                         full_attention(2, 128),
                         Mamba2Spec{.heads = 64, .head_dim = 64, .state_size = 128, .groups = 8, .chunk_size = 128});
}

inline ModelSpec nemotron_ultra_550b() {
  return counted_model("Nemotron-3-Ultra-550B-A55B", 48, 12, full_attention(2, 128),
                       Mamba2Spec{.heads = 256, .head_dim = 64, .state_size = 128, .groups = 8, .chunk_size = 128});
}

inline ModelSpec lfm25() {
  return hybrid_model("LFM2.5-1.2B", 16, full_attention(8, 64), ShortConvSpec{.channels = 2048, .conv_kernel = 3},
                      [](std::int64_t i) { return i == 2 || i == 5 || (i >= 8 && i % 2 == 0); });
}

inline AttentionSpec latent_attention(std::int64_t rank, std::int64_t rope) {
  return {.kind = AttentionKind::mla, .kv_heads = 1, .head_size_k = rank + rope, .head_size_v = rank};
}

inline ModelSpec kimi_k3() {
  return counted_model("Kimi-K3", 69, 24, latent_attention(512, 64), KdaSpec{.heads = 96, .head_dim = 128});
}

/// An indexer of 33 bytes a token beside the pages, and one tail block per request.
inline ModelSpec glm_flash() {
  ModelSpec model = hybrid_model("GLM-5.3-Flash", 45, latent_attention(512, 0),
                                 KdaSpec{.heads = 64, .head_dim = 128, .conv_holds_drafts = true},
                                 [](std::int64_t i) { return i % 4 == 3; });
  add_indexers(model, {33});
  model.extra_blocks_per_request = 1;
  return model;
}

/// One short convolution of its own, whole on every rank, an indexer and a ring.
inline ModelSpec qwen38_flash_next() {
  ModelSpec model = qwen_hybrid("Qwen3.8-Flash-Next", 48, full_attention(2, 256), qwen_gdn(16, 48));
  model.auxiliary = {ShortConvSpec{.channels = 10'240, .conv_kernel = 10, .replicated = true}};
  add_indexers(model, {64});
  model.extra_blocks_per_request = 1;
  return model;
}

/// The model of that published name. Throws std::out_of_range for any other.
inline ModelSpec published_model(std::string_view name) {
  ModelSpec models[] = {
      qwen_hybrid("Qwen3.5-4B", 32, full_attention(4, 256), qwen_gdn(16, 32)),
      qwen_hybrid("Qwen3.5-9B", 32, full_attention(4, 256), qwen_gdn(16, 32)),
      qwen_hybrid("Qwen3.5-35B-A3B", 40, full_attention(2, 256), qwen_gdn(16, 32)),
      qwen_hybrid("Qwen3.5-122B-A10B", 48, full_attention(2, 256), qwen_gdn(16, 64)),
      qwen3_next_80b(),
      qwen35_27b(),
      qwen35_397b(),
      granite_h_small(),
      granite_350m(),
      falcon_h1_3b(),
      nemotron_nano_4b(),
      nemotron_nano_30b(),
      nemotron_ultra_550b(),
      lfm25(),
      kimi_k3(),
      glm_flash(),
      qwen38_flash_next(),
  };
  for (ModelSpec& model : models)
    if (model.name == name) return std::move(model);
  throw std::out_of_range("no published model " + std::string(name));
}

/// One full-attention and one recurrent layer whose page is 16 tokens; the smallest hybrid.
inline ModelSpec two_layer_model() {
  return hybrid_model("two-layer", 2, full_attention(4, 64, 8),
                      GdnSpec{.key_heads = 2, .value_heads = 2, .key_head_dim = 32, .value_head_dim = 32,
                              .conv_kernel = 4},
                      [](std::int64_t i) { return i == 1; });
}

}  // namespace hybridkv::testing
