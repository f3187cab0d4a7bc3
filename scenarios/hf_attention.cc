#include "scenarios/hf_attention.h"

#include <fmt/format.h>

#include "scenarios/hf_class_rules.h"
#include "scenarios/hf_kind_parts.h"
#include "scenarios/model_tree.h"

namespace hybridkv {

namespace {

bool has_window(HfLayer layer) { return layer == HfLayer::sliding || layer == HfLayer::both_sliding; }

/// The number under the first of these names that is declared, each looked for alone: the later ones mean another kind
/// of layer, so that they may differ.
std::optional<HfNumber> first_number(const HfFields& fields, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (auto number = fields.optional_number({name})) return number;
  return std::nullopt;
}

/// Names of a field of the attention of such a layer, the most special first.
std::vector<std::string> names_for(const HfFields& fields, HfLayer layer, const std::string& name,
                                   const std::vector<std::string>& decoder_names = {}) {
  std::vector<std::string> names;
  if (has_window(layer)) names.push_back("swa_" + name);
  if (fields.flag("is_encoder_decoder", false)) names.insert(names.end(), decoder_names.begin(), decoder_names.end());
  names.push_back(name);
  return names;
}

HfNumber kv_heads(const HfFields& fields, HfLayer layer, const HfNumber& query) {
  std::vector<std::string> names =
      names_for(fields, layer, "num_key_value_heads", {"decoder_num_key_value_heads", "decoder_key_value_heads"});
  if (layer == HfLayer::attention && fields.flag("attention_k_eq_v", false))
    names.insert(names.begin(), "num_global_key_value_heads");
  // Falcon counts its KV heads only in the architecture that has several; before it one served all query heads.
  const YamlNode* multi_query = fields.find({"multi_query"});
  const bool one_for_all = fields.flag("multi_query", false) &&
                           !fields.flag("new_decoder_architecture", false);
  if (one_for_all) return {1, "multi_query", multi_query->place};
  names.insert(names.end(), {"num_kv_heads", "n_head_kv", "num_query_groups"});
  if (const auto config = fields.section("attn_config"))
    if (const auto number = config->optional_number({"kv_n_heads"})) return *number;
  const std::optional<HfNumber> declared = first_number(fields, names);
  if (!declared) return query;
  const bool is_shared = has_window(layer) && declared->name == "num_key_value_heads";
  return is_shared ? hf_number_at(declared->value * hf_class_rules(fields.model_type()).window_kv_factor, *declared)
                   : *declared;
}

std::optional<HfNumber> declared_head_dim(const HfFields& fields, HfLayer layer) {
  std::vector<std::string> names = names_for(fields, layer, "head_dim");
  if (layer == HfLayer::attention) names.insert(names.begin(), "global_head_dim");
  names.insert(names.end(), {"attention_head_dim", "hidden_size_per_head", "d_kv"});
  return first_number(fields, names);
}

void add_heads(YamlNode& kind, const HfFields& fields, HfLayer layer, const HfNumber& query) {
  const auto declared = declared_head_dim(fields, layer);
  const HfNumber head =
      declared ? *declared : hf_head_size(fields, query, hf_class_rules(fields.model_type()).attention_width);
  const auto v = first_number(fields, names_for(fields, layer, "v_head_dim"));
  if (!v || v->value == head.value) {
    add_hf_number(kind, "head_size", head);
  } else {
    add_hf_number(kind, "head_size_k", head);
    add_hf_number(kind, "head_size_v", *v);
  }
}

/// The latent of a layer; without channels for RoPE where no_rope_layers says 0 of it.
YamlNode latent_kind(const HfFields& fields, HfLayer layer, std::size_t index, const HfNumber& rank) {
  YamlNode kind = hf_kind("mla", {{"query_heads", hf_query_heads(fields, layer)}, {"kv_lora_rank", rank}});
  const auto rope = fields.optional_number({"qk_rope_head_dim"}, 0);
  if (!rope) throw fields.missing({"qk_rope_head_dim"}, "channels that the latent keeps for RoPE");
  const auto with_rope = fields.optional_numbers("no_rope_layers", 0);
  const bool none = with_rope && index < with_rope->size() && (*with_rope)[index].value == 0;
  add_hf_number(kind, "rope_dim", none ? hf_number_at(0, (*with_rope)[index]) : *rope);
  return kind;
}

const char* type_of(HfLayer layer) {
  if (has_window(layer)) return "sliding_window";
  return layer == HfLayer::chunked ? "chunked_local" : "full_attention";
}

}  // namespace

HfNumber hf_hidden_size(const HfFields& fields, const std::string& doc) {
  const auto declared = first_number(fields, {"hidden_size", "d_model", "n_embd", "dim"});
  if (!declared) throw fields.missing({"hidden_size"}, doc);
  return *declared;
}

HfNumber hf_head_size(const HfFields& fields, const HfNumber& heads, std::int64_t width) {
  const HfNumber hidden = hf_hidden_size(fields, "channels of the model, which give the head size");
  // A class whose own width its heads do not divide rounds down (glm4_moe).
  if (!fields.has_class() || !fields.has_default_width())
    require_hf_multiple(hf_number_at(hidden.value * width, hidden), "channels of attention", heads, "heads");
  return hf_number_at(hidden.value * width / heads.value, hidden);
}

HfNumber hf_query_heads(const HfFields& fields, HfLayer layer) {
  std::vector<std::string> names =
      names_for(fields, layer, "num_attention_heads",
                {"decoder_attention_heads", "decoder_num_attention_heads", "num_decoder_attention_heads"});
  if (has_window(layer)) names.insert(names.begin(), "num_sliding_attention_heads");
  names.insert(names.end(), {"n_head", "n_heads", "num_heads", "decoder_attention_heads"});
  const auto declared = first_number(fields, names);
  if (!declared) throw fields.missing({"num_attention_heads"}, "query heads");
  return *declared;
}

HfNumber hf_window(const HfFields& fields, HfLayer layer) {
  if (layer == HfLayer::chunked) return fields.number({"attention_chunk_size"}, "tokens of one chunk of attention");
  const auto declared =
      first_number(fields, {"sliding_window", "sliding_window_size", "attention_window_size", "window_size"});
  if (!declared)
    throw fields.missing({"sliding_window", "sliding_window_size", "attention_window_size", "window_size"},
                         "tokens that a layer of sliding attention looks back on");
  return *declared;
}

void add_hf_indexer(YamlNode& kind, const HfFields& fields) {
  const std::vector<std::string> names{"index_head_dim", "indexer_head_dim"};
  const std::optional<HfFields> sparse = fields.section("sparse_attention_config");
  const auto nested = sparse ? sparse->optional_number({"sparse_index_dim"}) : std::nullopt;
  const HfNumber key = nested ? *nested : fields.number(names, "channels of an index key");
  const bool of_blocks = nested || fields.find({"index_block_size"});
  const auto compressed = fields.optional_number({"indexer_compress_ratio"});
  const auto pooled = fields.optional_number({"index_kpool"});
  const auto heads = fields.optional_number({"indexer_kv_heads"});
  // In bf16, or in 8 bits beside a scale of 4 bytes.
  const std::int64_t bytes = of_blocks || compressed ? 2 * key.value * (heads ? heads->value : 1) : key.value + 4;
  add_hf_number(kind, "indexer_bytes_per_entry", hf_number_at(bytes, key));
  const std::optional<HfNumber> shared = compressed ? compressed : pooled;
  if (shared && shared->value > 1) add_hf_number(kind, "indexer_tokens_per_entry", *shared);
}

YamlNode hf_attention_kind(const HfFields& fields, HfLayer layer, std::size_t index) {
  const auto rank = first_number(fields, names_for(fields, layer, "kv_lora_rank"));
  YamlNode kind;
  if (rank) {
    kind = latent_kind(fields, layer, index, *rank);
  } else {
    const HfNumber query = hf_query_heads(fields, layer);
    const HfNumber kv = kv_heads(fields, layer, query);
    require_hf_multiple(query, "query heads", kv, "K/V heads");
    kind = hf_kind(type_of(layer), {{"query_heads", query}, {"kv_heads", kv}});
    add_heads(kind, fields, layer, query);
  }
  if (has_window(layer) || layer == HfLayer::chunked) add_hf_number(kind, "window_tokens", hf_window(fields, layer));
  if (layer == HfLayer::indexed) add_hf_indexer(kind, fields);
  return kind;
}

}  // namespace hybridkv
