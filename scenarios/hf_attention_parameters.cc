#include "scenarios/hf_attention_parameters.h"

#include "scenarios/hf_class_rules.h"

namespace hybridkv {

namespace {

/// Heads of one layer, in the names of all architectures.
struct HeadSizes {
  Checked queries = 0;
  Checked keys = 0;     ///< KV heads
  Checked size = 0;     ///< of a query or key head
  Checked value = 0;    ///< of a value head
};

HeadSizes heads_of_fields(const HfShape& layer, bool windowed) {
  HeadSizes heads;
  heads.queries = layer.number({"num_attention_heads", "n_head", "num_heads", "n_heads", "attention_heads",
                                "decoder_attention_heads"});
  heads.keys = layer.number({"num_key_value_heads", "num_kv_heads", "multi_query_group_num"}, heads.queries);
  if (layer.flag({"multi_query"}) && !layer.flag({"new_decoder_architecture"})) heads.keys = 1;
  heads.size = layer.number({"head_dim", "attention_head_dim", "hidden_size_per_head", "kv_channels", "d_kv"});
  if (heads.size == 0 && heads.queries != 0) heads.size = layer.hidden() / heads.queries;
  heads.value = layer.number({"v_head_dim"}, heads.size);
  if (windowed) {
    heads.queries = layer.number({"swa_num_attention_heads"}, heads.queries);
    heads.keys = layer.number({"swa_num_key_value_heads"}, heads.keys);
    const Checked size = layer.number({"swa_head_dim"});
    if (size != 0) heads.size = heads.value = size;
    heads.value = layer.number({"swa_v_head_dim"}, heads.value);
  } else if (const Checked size = layer.number({"global_head_dim"}); size != 0) {
    heads.size = heads.value = size;
    heads.keys = layer.number({"num_global_key_value_heads"}, heads.keys);
  }
  return heads;
}

/// Heads of one layer: as its kind says where it has one, else as the fields do.
HeadSizes head_sizes(const HfShape& layer, bool windowed, const YamlNode* kind) {
  HeadSizes heads = heads_of_fields(layer, windowed);
  heads.queries = hf_kind_number(kind, "query_heads", heads.queries);
  heads.keys = hf_kind_number(kind, "kv_heads", heads.keys);
  const Checked both = hf_kind_number(kind, "head_size", 0);
  if (both != 0) heads.size = heads.value = both;
  heads.size = hf_kind_number(kind, "head_size_k", heads.size);
  heads.value = hf_kind_number(kind, "head_size_v", heads.value);
  return heads;
}

/// Does the layer take K and V of an earlier one?
bool takes_values(const HfShape& layer) {
  if (const YamlNode* sources = layer.list("kv_source_layers"); sources)
    return layer.number({"kv_source_layers"}, layer.layer()) != layer.layer();
  const std::int64_t sharers = layer.number({"num_kv_shared_layers"});
  return layer.has(HfTrait::shares_values) && sharers > 0 &&
         layer.layer() >= layer.number({"num_hidden_layers"}) - sharers;
}

bool has_indexer(const HfShape& layer, bool windowed) {
  if (const std::string type = layer.word("indexer_types"); !type.empty()) return type == "full";
  // Attention to blocks of keys is that of the layers which say so; the others have no indexer.
  if (layer.number({"index_block_size"}) != 0) return layer.word("layer_types").find("sparse") != std::string::npos;
  return !windowed;
}

/// What chooses the tokens of sparse attention. `input`: size that its queries are made from.
Checked indexer_parameters(const HfShape& layer, bool windowed, std::int64_t input) {
  const Checked hidden = layer.hidden();
  const Checked heads = layer.number({"index_n_heads", "indexer_n_heads"});
  const Checked size = layer.number({"index_head_dim", "indexer_head_dim"});
  if (heads == 0 || !has_indexer(layer, windowed)) return 0;
  const Checked keys = layer.number({"indexer_kv_heads"}, 1);
  const Checked queries = heads * size * input;
  const bool weighs_heads = layer.number({"index_topk"}) != 0;
  return queries + hidden * keys * size + 2 * size + (weighs_heads ? hidden * heads : Checked(0));
}

Checked gate_parameters(const HfShape& layer, const HeadSizes& heads) {
  Checked gate = 0;
  if (layer.has(HfTrait::head_gate)) gate += layer.hidden() * heads.queries;
  if (layer.has(HfTrait::channel_gate) || layer.flag({"mla_use_output_gate"}))
    gate += layer.hidden() * heads.queries * heads.value;
  return gate;
}

/// Latents of K and V, and of queries where these have one.
ParameterCounts latent_attention(const HfShape& layer, const HeadSizes& heads, bool windowed) {
  const Checked hidden = layer.hidden();
  const Checked rank = layer.number({"kv_lora_rank"});
  const Checked rope = layer.number({"qk_rope_head_dim"});
  const Checked plain = layer.number({"qk_nope_head_dim"});
  const Checked value = layer.number({"v_head_dim"});
  const Checked query_rank = layer.number({"q_lora_rank"});
  ParameterCounts counts;
  Checked latents = indexer_parameters(layer, windowed, query_rank != 0 ? query_rank : hidden);
  latents += hidden * query_rank + query_rank;
  if (!takes_values(layer)) latents += hidden * (rank + rope) + rank;
  if (layer.has(HfTrait::sinks)) latents += heads.queries;
  counts[ParameterPart::latents] = latents;
  // A gate made with the queries sees two latents side by side.
  const Checked query = layer.has(HfTrait::gate_in_query) ? 2 * query_rank * (plain + rope + value)
                                                         : (query_rank != 0 ? query_rank : hidden) * (plain + rope);
  counts[ParameterPart::attention] = query * heads.queries +
                                     rank * heads.queries * (plain + value) + heads.queries * value * hidden +
                                     gate_parameters(layer, {heads.queries, heads.keys, heads.size, value});
  return counts;
}

/// Tokens that one entry of compressed attention stands for; 0: the layer keeps a window alone.
Checked compress_ratio(const HfShape& layer) {
  if (layer.list("compress_ratios")) return layer.number({"compress_ratios"});
  const YamlNode* rates = layer.mapping("compress_rates");
  const YamlNode* rate = rates ? rates->find(layer.word("layer_types")) : nullptr;
  return rate ? hf_count(*rate).value_or(0) : 0;
}

/// Queries with a latent, one head of K and V, outputs in groups of low rank; entries of several tokens beside it.
ParameterCounts compressed_attention(const HfShape& layer, const HeadSizes& heads) {
  const Checked hidden = layer.hidden();
  const Checked query_rank = layer.number({"q_lora_rank"});
  const Checked out_rank = layer.number({"o_lora_rank"}) * layer.number({"o_groups"});
  const Checked index_heads = layer.number({"index_n_heads"});
  const Checked index_size = layer.number({"index_head_dim"});
  ParameterCounts counts;
  counts[ParameterPart::attention] = query_rank * heads.queries * heads.size +
                                     layer.number({"o_lora_rank"}) * heads.queries * heads.size + out_rank * hidden;
  Checked latents = hidden * query_rank + query_rank + hidden * heads.size + heads.size + heads.queries;
  const Checked ratio = compress_ratio(layer);
  // Entries of few tokens overlap, which doubles their projections, and are chosen by an indexer.
  constexpr std::int64_t most_overlapping = 16;
  const bool overlaps = ratio <= most_overlapping;
  const auto compressor = [&](Checked size) {
    return (overlaps ? 2 : 1) * size * (2 * hidden + ratio) + size;
  };
  if (ratio != 0) latents += compressor(heads.size);
  if (ratio != 0 && overlaps)
    latents += compressor(index_size) + query_rank * index_heads * index_size + hidden * index_heads;
  counts[ParameterPart::latents] = latents;
  return counts;
}

/// Short convolutions, positions and scales that some architectures have inside their attention.
Checked extra_parameters(const HfShape& layer, const HeadSizes& heads) {
  Checked extra = 0;
  if (const Checked near = layer.number({"cca_time0"}); near != 0) {
    const Checked channels = (heads.queries + heads.keys) * heads.size;
    extra += channels * (near + 1) + channels * (heads.size * layer.number({"cca_time1"}) + 1) + heads.keys;
  }
  if (const Checked relative = layer.number({"d_rel"}); relative != 0) {
    extra += layer.hidden() * heads.queries * relative + relative * layer.number({"rel_extent"});
    extra += layer.number({"conv_kernel_size"}) * (2 * heads.keys * heads.size + 2 * layer.hidden());
  }
  return extra;
}

Checked norm_parameters(const HfShape& layer, const HeadSizes& heads) {
  const bool is_asked = layer.flag({"use_qk_norm", "qk_layernorm", "qk_norm", "use_qk_layernorm"});
  const bool is_wide = layer.has(HfTrait::wide_norms);
  if (!is_asked && !is_wide && !layer.has(HfTrait::head_norms)) return 0;
  return is_wide ? (heads.queries + heads.keys) * heads.size
                 : 2 * heads.size * (layer.has(HfTrait::layer_norm) ? 2 : 1);
}

ParameterCounts head_attention(const HfShape& layer, const HeadSizes& heads, bool windowed) {
  const Checked hidden = layer.hidden();
  const Checked input = hidden * hf_class_rules(layer.model_type()).attention_width;
  const bool is_biased = layer.has(HfTrait::query_bias) ||
                         layer.flag({"attention_bias", "qkv_bias", "use_qkv_bias", "use_bias", "bias",
                                     "add_qkv_bias", "add_bias_linear"});
  const bool is_output_biased =
      layer.has(HfTrait::output_bias) ||
      (is_biased && !layer.has(HfTrait::query_bias) && !layer.has(HfTrait::no_output_bias));
  const Checked query = heads.queries * heads.size * (layer.has(HfTrait::gate_in_query) ? 2 : 1);
  ParameterCounts counts;
  counts[ParameterPart::attention] = query * (input + (is_biased ? 1 : 0)) + heads.queries * heads.value * hidden +
                                     (is_output_biased ? hidden : Checked(0)) + gate_parameters(layer, heads) +
                                     (layer.has(HfTrait::sinks) ? heads.queries : Checked(0)) +
                                     extra_parameters(layer, heads);
  const bool keys_are_values = !windowed && layer.flag({"attention_k_eq_v"});
  const Checked channels = heads.keys * (keys_are_values ? heads.size : heads.size + heads.value);
  if (!takes_values(layer)) counts[ParameterPart::keys_values] = channels * (input + (is_biased ? 1 : 0));
  counts[ParameterPart::latents] = indexer_parameters(layer, windowed, hidden);
  counts[ParameterPart::norms] = norm_parameters(layer, heads);
  return counts;
}

bool keeps_latents(const HfShape& layer) { return layer.number({"kv_lora_rank"}) != 0; }
bool compresses(const HfShape& layer) { return layer.number({"o_lora_rank"}) != 0; }

}  // namespace

ParameterCounts hf_attention_parameters(const HfShape& layer, bool windowed, const YamlNode* kind) {
  const HeadSizes heads = head_sizes(layer, windowed, kind);
  if (compresses(layer)) return compressed_attention(layer, heads);
  if (keeps_latents(layer)) return latent_attention(layer, heads, windowed);
  return head_attention(layer, heads, windowed);
}

std::int64_t hf_parameter_kv_heads(const HfShape& layer, bool windowed, const YamlNode* kind) {
  return compresses(layer) || keeps_latents(layer) ? 0 : std::int64_t{head_sizes(layer, windowed, kind).keys};
}

}  // namespace hybridkv
