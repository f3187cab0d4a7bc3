#pragma once

#include <optional>

#include "scenarios/hf_fields.h"

namespace hybridkv {

/// The recurrent kind of a published config as a kind of a model file, {type: …, …}, in which every value has the place
/// of the field it comes from. Which family it is follows from the fields that declare it:
///   linear_attn_config; linear_num_heads and linear_head_dim; short_conv_kernel_size   Kimi delta attention
///   linear_num_value_heads      gated delta net, beta doubled where linear_allow_neg_eigval is true
///   conv_L_cache                short convolution of conv_dim, else hidden_size channels
///   mamba_n_heads, mamba_num_heads, mamba_ngroups; state_size and n_groups   Mamba-2; heads of mamba_d_head channels,
///                               "auto" for their share of mamba_d_ssm, else of mamba_expand * hidden_size
///   hidden_size_per_head, mamba_d_state; state_size and expand   Mamba-1 of expand * hidden_size channels
///   attn_type_list, linear_attn_alpha_factor, layer_group_size   linear attention with the heads of the attention
///   conv1d_width                RG-LRU of lru_width, else hidden_size channels
///   qk_dim_factor               mLSTM (xLSTM), heads that share so much of the width
/// The model_type alone tells RWKV: rwkv is version 4, rwkv5 to rwkv7 the others.
/// Throws InputError for a field that is missing or wrong and for numbers that contradict each other. Numbers that the
/// config leaves to a rule follow the rule of its configuration class in Hugging Face Transformers.
YamlNode hf_recurrent_kind(const HfFields& fields);

/// The convolutions through which the attention beside them gets its inputs and gives its outputs, a kind of their own:
/// those of compressed convolutional attention (cca_time0, cca_time1) and of four streams (conv_kernel_size, also
/// sconv_kernel_size). `attention` is the kind of that attention; nothing where the config declares none.
std::optional<YamlNode> hf_convolutions_of(const HfFields& fields, const YamlNode& attention);

}  // namespace hybridkv
