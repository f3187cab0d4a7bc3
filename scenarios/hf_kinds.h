#pragma once

#include "scenarios/hf_fields.h"

namespace hybridkv {

/// The kinds of layer of published configs as kinds of a model file: each function reads the fields of one layout of
/// names and returns the mapping {type: …, …}, in which every value has the place of the field it comes from. All
/// throw InputError for a field that is missing or wrong and for numbers that contradict each other. Numbers that the
/// config leaves to a rule follow the rule of its configuration class in Hugging Face Transformers.

/// num_attention_heads, num_key_value_heads and head_dim (also attention_head_dim, hidden_size_per_head); without
/// head_dim hidden_size * `width` / num_attention_heads. v_head_dim is the size of V heads where it differs.
YamlNode hf_attention(const HfFields& fields, std::int64_t width);
/// As hf_attention, where the field of the head size has no rule to follow.
YamlNode hf_attention_with_head_dim(const HfFields& fields);
/// hf_attention over the last sliding_window tokens, and inside chunks of attention_chunk_size tokens.
YamlNode hf_sliding_attention(const HfFields& fields);
YamlNode hf_chunked_attention(const HfFields& fields);

/// num_attention_heads, kv_lora_rank and qk_rope_head_dim: kimi_linear.
YamlNode hf_mla(const HfFields& fields);
/// hf_mla where kv_lora_rank is declared, else hf_attention: bailing_hybrid, bailing_moe_linear.
YamlNode hf_bailing_attention(const HfFields& fields);

/// linear_num_key_heads and so on: qwen3_next, qwen3_5.
YamlNode hf_gdn(const HfFields& fields);
/// As hf_gdn; beta is doubled unless linear_allow_neg_eigval is false: olmo_hybrid.
YamlNode hf_olmo_gdn(const HfFields& fields);

/// mamba_n_heads, mamba_d_head (a number, or "auto" for the inner size shared by the heads) and so on:
/// granitemoehybrid, bamba, falcon_h1. The inner size is mamba_d_ssm, else mamba_expand * hidden_size, and must be
/// heads * head size.
YamlNode hf_mamba2(const HfFields& fields);
/// mamba_num_heads, mamba_head_dim, ssm_state_size and so on: nemotron_h.
YamlNode hf_nemotron_mamba2(const HfFields& fields);
/// n_mamba_heads, mamba_headdim, mamba_ngroups and so on: zamba2.
YamlNode hf_zamba2_mamba2(const HfFields& fields);

/// mamba_expand * hidden_size channels, mamba_d_state and mamba_d_conv: jamba.
YamlNode hf_mamba1(const HfFields& fields);
/// mamba_num_heads * hidden_size_per_head channels, mamba_d_state and mamba_d_conv: plamo2.
YamlNode hf_plamo2_mamba1(const HfFields& fields);

/// conv_dim (else hidden_size) channels and conv_L_cache: lfm2, lfm2_moe.
YamlNode hf_short_conv(const HfFields& fields);

/// Linear attention with as many heads, and as large ones, as the attention: minimax.
YamlNode hf_linear(const HfFields& fields);

/// num_heads, head_dim and short_conv_kernel_size of linear_attn_config, its decay limited where that declares
/// gate_lower_bound: kimi_linear.
YamlNode hf_kda(const HfFields& fields);
/// Kimi delta attention with the heads of the attention where short_conv_kernel_size is declared, else hf_linear; its
/// decay is limited by kda_lower_bound, -5 where absent, unless kda_safe_gate is false: bailing_hybrid,
/// bailing_moe_linear.
YamlNode hf_bailing_recurrent(const HfFields& fields);

}  // namespace hybridkv
