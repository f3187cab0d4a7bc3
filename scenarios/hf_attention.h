#pragma once

#include "scenarios/hf_fields.h"
#include "scenarios/hf_layer_pattern.h"

namespace hybridkv {

/// The kind of attention of a layer of a published config as a kind of a model file, {type: …, …}, in which every value
/// has the place of the field it comes from. `layer` is one with attention; `fields` are those of that layer (with what
/// it has of its own), and `index` its number.
///
/// Heads are num_attention_heads and num_key_value_heads; without the latter one KV head for each of the former, or one
/// for all where multi_query is true. A head has head_dim channels, else its share of hidden_size; V heads have
/// v_head_dim channels where declared. Layers with a window read swa_* first, layers of full attention global_* (Gemma
/// 4), decoders of encoder-decoders decoder_*. Where kv_lora_rank is declared the layer keeps a latent of that many
/// channels and qk_rope_head_dim for RoPE, none of those in layers that no_rope_layers names. What an indexer keeps
/// follows vLLM 0.33: keys in 8 bits with a scale of 4 bytes, one for index_kpool tokens; in bf16 of blocks
/// (MiniMax-M3) and of compressed tokens (Qwen4). Throws InputError for a field that is missing or wrong and for
/// numbers that contradict each other. Source: the configuration and modelling classes of Hugging Face
/// Transformers 5.23; vLLM 0.33 for indexers.
YamlNode hf_attention_kind(const HfFields& fields, HfLayer layer, std::size_t index);

/// Query heads of such a layer.
HfNumber hf_query_heads(const HfFields& fields, HfLayer layer);

/// Tokens that a layer with a window looks back on, and those of a chunk.
HfNumber hf_window(const HfFields& fields, HfLayer layer);

/// Adds what the indexer of a layer keeps: indexer_bytes_per_entry and, where tokens share an entry,
/// indexer_tokens_per_entry. Throws InputError where the config does not say the size of an index key.
void add_hf_indexer(YamlNode& kind, const HfFields& fields);

/// One of these heads: declared, or its share of `width` times hidden_size.
HfNumber hf_head_size(const HfFields& fields, const HfNumber& heads, std::int64_t width);

/// Channels of the model under the names of the class and of older configs.
HfNumber hf_hidden_size(const HfFields& fields, const std::string& doc);

}  // namespace hybridkv
