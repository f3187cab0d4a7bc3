#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attention/attention_shape.h"
#include "attention/kv_codec.h"
#include "attention/metadata.h"
#include "layout/view.h"

namespace hybridkv {

/// The tensors and the rule of one layer: all that a backend needs besides the metadata of the batch. Borrows its
/// tensors.
///
/// Axes: T query tokens, Hq query heads, Hkv KV heads, dk and dv channels of K and V. Query head h reads KV
/// head h / (Hq / Hkv). The cache is indexed through its layouts only, so every view of the planner will do.
/// MLA in its absorbed form is the case of one KV head whose K is the whole latent (dk = kv_lora_rank + rope_dim) and
/// whose V is the latent's first dv = kv_lora_rank channels; `query` is then the absorbed one, (T, Hq, dk).
struct AttentionTensors {
  std::int64_t num_query_heads = 0;  ///< Hq, a multiple of Hkv
  std::span<const float> query;      ///< (T, Hq, dk)
  std::span<const float> key_new;    ///< (T, Hkv, dk), K of the query tokens
  std::span<const float> value_new;  ///< (T, Hkv, dv), V of the query tokens
  /// K and V of the cache, (block, token, head, channel) as `key_value_layouts` gives them, the new tokens already
  /// written. "block" counts kernel blocks of b tokens: block i of the block table (B tokens) is kernel blocks
  /// i * (B / b) to i * (B / b) + B / b - 1, so slot s lies in kernel block s / b, token s % b.
  TensorView key;
  TensorView value;
  double scale = 0;                  ///< of the scores, usually 1 / sqrt(dk)
  KeyMask mask;                      ///< of the layer; other than full it needs causal metadata
  double soft_cap = 0;               ///< scores become soft_cap * tanh(score / soft_cap); 0 = none
  /// (Hq) or empty: a logit per query head that takes part in the denominator and has no value. The log-sum-exp
  /// contains it, so a token without keys then has out 0 and lse = its sink. Source: gpt-oss, vLLM PR 22330.
  std::span<const float> sinks = {};
  /// How K and V became what the cache holds. In a format with scales "channel" counts bytes of a head, dk and dv are
  /// the channels they hold; `key_new` and `value_new` are always values.
  KvCodec key_codec = {};
  KvCodec value_codec = {};

  std::int64_t num_kv_heads() const { return key.layout.extent("head"); }
  std::int64_t head_size_k() const { return decoded_channels(key_codec, key.layout.extent("channel")); }
  std::int64_t head_size_v() const { return decoded_channels(value_codec, value.layout.extent("channel")); }
  std::int64_t kernel_block_tokens() const { return key.layout.extent("token"); }
  AttentionShape shape() const { return {num_query_heads, num_kv_heads(), head_size_k(), head_size_v(), mask}; }
};

/// All that a backend computes the attention of one layer and one batch from.
/// Invariants: `check_inputs`.
struct AttentionInputs : AttentionTensors {
  /// Of the batch, one for all layers of a group and all their backends; not null.
  std::shared_ptr<const CommonAttentionMetadata> metadata;
  /// (R), the request reads its own new tokens from the cache; false while it still processes its prompt.
  std::vector<bool> is_decode;

  std::int64_t num_tokens() const { return metadata->num_actual_tokens; }
};

/// Throws InputError, with the numbers, where the tensors do not fit each other or the metadata, the kernel block
/// does not divide the block, or the block table names a block outside the cache. Throws as `check_metadata`.
void check_inputs(const AttentionInputs& inputs);

/// All of that but `check_metadata`, which one batch needs once: what is left to check for each layer of its group.
void check_tensors(const AttentionInputs& inputs);

}  // namespace hybridkv
