#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/dtype.h"
#include "base/named_values.h"

namespace hybridkv {

/// What a layer of attention may look at.
enum class AttentionKind {
  full,            ///< every earlier token
  sliding_window,  ///< the last `window_tokens` tokens
  chunked_local,   ///< the tokens of its own chunk of `window_tokens`
  mla,             ///< every earlier token, or those of a window, through one shared latent per token
  hidden_state,    ///< no attention: an auxiliary layer that caches one vector per token, as a latent without heads
  cross,           ///< every token of the encoder, whose K and V a request has from its start, however long it gets
  indexer,         ///< no attention: what sparse attention keeps of every token to choose by, in the table of its layer
};

/// What sparse attention keeps of the tokens of a layer beside its K and V, to choose by.
struct IndexerSpec {
  std::int64_t bytes_per_entry = 0;   ///< >= 1
  std::int64_t tokens_per_entry = 1;  ///< that share an entry, >= 1
  bool operator==(const IndexerSpec&) const = default;
};

/// One attention layer of a model, before any split over ranks.
/// Example: Qwen3.5-397B: full, 32 query heads, 2 KV heads, head size 256 for K and V.
struct AttentionSpec {
  AttentionKind kind = AttentionKind::full;
  std::int64_t query_heads = 0;    ///< >= 1, a multiple of kv_heads; only the computation needs it
  std::int64_t kv_heads = 0;       ///< >= 1; 1 for mla
  std::int64_t head_size_k = 0;    ///< elements of K per head; for mla kv_lora_rank + rope_dim, the latent
  std::int64_t head_size_v = 0;    ///< elements of V per head; for mla kv_lora_rank, part of the same latent
  std::int64_t window_tokens = 0;  ///< sliding_window and chunked_local >= 1; of mla where it keeps no more; else 0
  std::optional<IndexerSpec> indexer;  ///< full and mla only; of kind indexer itself
  bool operator==(const AttentionSpec&) const = default;
};

inline constexpr auto attention_kind_names = std::to_array<Named<AttentionKind>>(
    {{AttentionKind::full, "full_attention"},
     {AttentionKind::sliding_window, "sliding_window"},
     {AttentionKind::chunked_local, "chunked_local"},
     {AttentionKind::mla, "mla"},
     {AttentionKind::hidden_state, "hidden_state"},
     {AttentionKind::cross, "cross_attention"},
     {AttentionKind::indexer, "indexer"}});
inline constexpr auto all_attention_kinds = values_of(attention_kind_names);

constexpr std::string_view to_string(AttentionKind value) { return name_in(attention_kind_names, value); }

/// One vector per token without heads, which every rank holds whole: mla, hidden_state and indexer.
constexpr bool is_latent(AttentionKind kind) {
  return kind == AttentionKind::mla || kind == AttentionKind::hidden_state || kind == AttentionKind::indexer;
}

/// Does the layer look at every earlier token?
constexpr bool sees_every_token(const AttentionSpec& layer) {
  return layer.kind == AttentionKind::full || (layer.kind == AttentionKind::mla && layer.window_tokens == 0);
}

/// The layer with as many heads more as let the ranks share them: KV heads up to a multiple of TP, query heads in
/// proportion; of a latent query heads alone. The layer itself where nothing has to be padded, as where TP is a
/// multiple of the KV heads. Source: SGLang adjust_config_with_unaligned_cpu_tp.
/// Example: 14 query heads on 2 KV heads, TP 3: 21 on 3.
AttentionSpec with_padded_heads(AttentionSpec layer, std::int64_t tensor_parallel);

/// KV heads one rank holds: max(1, kv_heads / TP); a latent is held whole by every rank.
/// Throws SpecError("engine.tensor_parallel") where neither number divides the other. Source: vLLM
/// FullAttentionSpec.page_size_bytes.
std::int64_t kv_heads_per_rank(const AttentionSpec& layer, std::int64_t tensor_parallel);

/// Query heads one rank computes: query_heads / TP.
/// Throws SpecError("engine.tensor_parallel") where TP does not divide them.
std::int64_t query_heads_per_rank(const AttentionSpec& layer, std::int64_t tensor_parallel);

/// a1: bytes one token costs in one layer on one rank, K and V together; one latent for mla.
/// Throws as kv_heads_per_rank. Source: vLLM FullAttentionSpec.page_size_bytes.
/// Example: Qwen3.5-397B at TP2 in bf16: 1 head * (256 + 256) * 2 = 1024.
std::int64_t kv_bytes_per_token(const AttentionSpec& layer, std::int64_t tensor_parallel, DType kv_dtype);

}  // namespace hybridkv
