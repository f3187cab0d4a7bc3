#include "scenarios/hf_recurrent_parameters.h"

namespace hybridkv {

namespace {

/// A field of linear_attn_config, else of the config itself.
Checked inner_number(const HfShape& layer, const char* inner, HfShape::Names names) {
  const YamlNode* section = layer.mapping("linear_attn_config");
  const YamlNode* value = section ? section->find(inner) : nullptr;
  return value && hf_count(*value) ? Checked(*hf_count(*value)) : layer.number(names);
}

bool inner_flag(const HfShape& layer, const char* inner) {
  const YamlNode* section = layer.mapping("linear_attn_config");
  const YamlNode* value = section ? section->find(inner) : nullptr;
  return value && value->kind == YamlNode::Kind::scalar && !value->quoted && value->text == "true";
}

/// Queries, keys, values and a gate, a convolution over the first three, beta and decay of each head.
Checked gdn_parameters(const HfShape& layer) {
  const Checked hidden = layer.hidden();
  const Checked heads = layer.number({"linear_num_value_heads"});
  const Checked keys = layer.number({"linear_num_key_heads"}) * layer.number({"linear_key_head_dim"});
  const Checked values = heads * layer.number({"linear_value_head_dim"});
  return hidden * (2 * keys + 3 * values + 2 * heads) +
         (2 * keys + values) * layer.number({"linear_conv_kernel_dim"}, 4) + 2 * heads +
         layer.number({"linear_value_head_dim"});
}

Checked kda_parameters(const HfShape& layer) {
  const Checked hidden = layer.hidden();
  const Checked heads = inner_number(layer, "num_heads", {"linear_num_heads", "linear_num_key_heads",
                                                          "num_attention_heads"});
  const Checked size = inner_number(layer, "head_dim", {"linear_head_dim", "linear_key_head_dim", "head_dim"});
  const Checked kernel = inner_number(layer, "short_conv_kernel_size", {"linear_conv_kernel_dim",
                                                                        "short_conv_kernel_size"});
  const Checked channels = heads * size;
  const Checked full = hidden * channels, low = size * (hidden + channels);
  const Checked decay = layer.has(HfTrait::full_rank_gates) ? full : low;
  const Checked gate = inner_flag(layer, "use_full_rank_gate") ? full : decay;
  return 4 * full + 3 * channels * kernel + channels + heads + decay + gate + hidden * heads + size;
}

/// Queries, keys, values, a gate of the output and its norm.
Checked linear_parameters(const HfShape& layer) {
  const Checked heads = layer.number({"num_attention_heads"});
  if (heads == 0) return 0;
  const Checked size = layer.number({"linear_head_dim", "head_dim"}, layer.hidden() / heads);
  return 5 * layer.hidden() * heads * size + heads * size;
}

Checked mamba1_parameters(const HfShape& layer) {
  const Checked hidden = layer.hidden();
  const Checked inner = layer.has(HfTrait::inner_is_mlp) ? layer.number({"intermediate_size"})
                                                         : layer.number({"mamba_expand", "expand"}) * hidden;
  const Checked state = layer.number({"mamba_d_state", "state_size"});
  const Checked rank = layer.number({"mamba_dt_rank", "time_step_rank"}, ceil_div(hidden, 16));
  const Checked norms = layer.has(HfTrait::inner_norms) ? rank + 2 * state : Checked(0);
  return 3 * hidden * inner + inner * (layer.number({"mamba_d_conv", "conv_kernel"}) + 1) +
         inner * (rank + 2 * state) + inner * (rank + 1) + inner * (state + 1) + norms;
}

Checked mamba2_parameters(const HfShape& layer, const YamlNode* kind) {
  const Checked hidden = layer.hidden();
  const Checked heads =
      hf_kind_number(kind, "heads", layer.number({"mamba_n_heads", "mamba_num_heads", "n_mamba_heads", "num_heads"}));
  const Checked size =
      hf_kind_number(kind, "head_dim", layer.number({"mamba_d_head", "mamba_head_dim", "mamba_headdim", "head_dim"}));
  Checked inner = layer.number({"mamba_d_ssm"}, heads * size);
  if (inner == 0) inner = layer.number({"mamba_expand", "expand"}) * hidden;
  const Checked groups =
      hf_kind_number(kind, "groups", layer.number({"mamba_n_groups", "mamba_ngroups", "n_groups"}));
  const Checked state =
      hf_kind_number(kind, "state_size", layer.number({"mamba_d_state", "ssm_state_size", "state_size"}));
  const Checked inputs = 2 * groups * state;
  const Checked projected = 2 * inner + inputs + heads;
  Checked sum = hidden * (projected + inner) + 3 * heads;
  sum += (inner + inputs) * (layer.number({"mamba_d_conv", "conv_kernel"}) +
                             (layer.flag({"mamba_conv_bias", "use_conv_bias"}, true) ? 1 : 0));
  if (layer.flag({"mamba_proj_bias", "use_bias"})) sum += projected + hidden;
  const bool has_norm = !layer.has(HfTrait::plain_state) || layer.flag({"mamba_rms_norm"});
  return has_norm ? sum + inner : sum;
}

Checked short_conv_parameters(const HfShape& layer) {
  const Checked hidden = layer.hidden();
  const Checked channels = layer.number({"conv_dim"}, hidden);
  const Checked biases = layer.flag({"conv_bias"}) ? 4 * channels + hidden : Checked(0);
  return 4 * hidden * channels + channels * layer.number({"conv_L_cache"}) + biases;
}

/// A real-gated linear recurrence: gates in blocks, one for each head.
Checked gated_recurrence_parameters(const HfShape& layer, std::int64_t width) {
  const Checked hidden = layer.hidden();
  const std::int64_t heads = layer.number({"num_attention_heads"}, 1);
  const Checked blocks = heads == 0 ? Checked(0) : Checked(width) * (width / heads);
  return 3 * hidden * width + 2 * Checked(width) + hidden + Checked(width) * (layer.number({"conv1d_width"}) + 1) +
         2 * (blocks + width) + width;
}

/// Receptance, key, value and output, a decay and a bonus of each channel, mixtures with the token before; the MLP
/// behind them has a receptance too.
Checked rwkv_parameters(const HfShape& layer) {
  const Checked channels = layer.number({"attention_hidden_size"});
  return layer.hidden() * (4 * channels + layer.hidden()) + 2 * channels + 5 * layer.hidden();
}

/// Queries and keys, values and the gate of the output, a gate of each head for what comes in and for what stays, the
/// norm of the heads and the output.
Checked xlstm_parameters(const HfShape& layer) {
  const Checked hidden = layer.hidden();
  const Checked heads = layer.number({"num_heads"});
  const auto width = [&](const char* factor) {
    return Checked(static_cast<std::int64_t>(static_cast<double>(layer.hidden()) * layer.real(factor, 0)));
  };
  const Checked keys = width("qk_dim_factor"), values = width("v_dim_factor");
  const Checked biases = layer.flag({"use_bias"}) ? 2 * keys + 3 * values + hidden : Checked(0);
  return hidden * (2 * keys + 3 * values) + 2 * heads * (hidden + 1) + values + biases;
}

}  // namespace

std::int64_t hf_recurrent_parameters(const HfShape& layer, std::string_view family, const YamlNode* kind) {
  // Convolutions inside attention are counted with it.
  if (layer.number({"cca_time0", "d_rel"}) != 0) return 0;
  if (const Checked width = layer.number({"lru_width"}); width != 0) return gated_recurrence_parameters(layer, width);
  if (layer.number({"attention_hidden_size"}) != 0 && layer.number({"num_attention_heads"}) == 0)
    return rwkv_parameters(layer);
  if (family == "xlstm") return xlstm_parameters(layer);
  if (family == "gdn") return gdn_parameters(layer);
  if (family == "kda") return kda_parameters(layer);
  if (family == "linear") return linear_parameters(layer);
  if (family == "mamba1") return mamba1_parameters(layer);
  if (family == "mamba2") return mamba2_parameters(layer, kind);
  return short_conv_parameters(layer);
}

}  // namespace hybridkv
