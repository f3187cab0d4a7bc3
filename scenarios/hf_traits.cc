#include "scenarios/hf_traits.h"

#include <cstddef>
#include <initializer_list>

namespace hybridkv {

namespace {

/// A trait and the architectures that have it, by the model_type of the language model.
struct TraitRow {
  HfTrait trait;
  std::string_view model_types;  ///< blanks between them
  std::string_view more = "";    ///< two families of them
  std::string_view still_more = "";
};

/// Encoders of the first years, which can be run as decoders: biases everywhere, norms with biases, no gates.
constexpr std::string_view old_encoders =
    "bert megatron-bert roberta camembert xlm-roberta xlm-roberta-xl roberta-prelayernorm data2vec-text electra "
    "roformer big_bird ernie git roc_bert xmod rembert bert-generation";
/// And the decoders of their time.
constexpr std::string_view old_decoders =
    "bart mbart marian pegasus plbart blenderbot blenderbot-small m2m_100 speech_to_text kosmos_2_5_text_model "
    "kosmos_2_text_model whisper trocr mvp led fsmt prophetnet pegasus_x bigbird_pegasus seamless_m4t "
    "seamless_m4t_v2 speecht5";

/// Source: the parameters of the classes of Hugging Face Transformers 5.23.0 as they are made from their configs, by
/// name and shape.
constexpr TraitRow trait_rows[] = {
    {HfTrait::query_bias,
     "qwen2 qwen2_vl_text qwen2_5_vl_text qwen2_5_omni_text qwen2_moe glm4v_moe_text gpt_oss gpt2 gpt-sw3 "
     "gpt_bigcode phi gpt_neox bloom opt xglm starcoder2 persimmon fuyu openai-gpt biogpt ctrl fun_asr_nano",
     old_encoders,
     old_decoders},
    {HfTrait::output_bias,
     "gpt_oss gpt2 gpt-sw3 gpt_bigcode phi gpt_neox bloom opt xglm starcoder2 persimmon fuyu openai-gpt biogpt "
     "ctrl gpt_neo fun_asr_nano recurrent_gemma",
     old_encoders,
     old_decoders},
    {HfTrait::no_output_bias, "glm glm4 glm4v_text glm4v_moe_text seed_oss qwen2_5_omni_text glm4_moe"},
    {HfTrait::gate_in_query, "qwen3_next qwen3_5_text qwen3_5_moe_text qwen4_exp_text axk2"},
    {HfTrait::head_gate, "bailing_hybrid step3p5 laguna lfm3 dots3_note_text"},
    {HfTrait::channel_gate, "hrm_text hy_v4 afmoe beam muse_glimmer_text muse_spark_text inkling2_text"},
    {HfTrait::sinks, "gpt_oss granite_swa granitemoe_swa hy_v4 flint deepseek_v4"},
    {HfTrait::head_norms,
     "qwen3_next qwen3_5_text qwen3_5_moe_text qwen4_exp_text qwen3 qwen3_moe qwen3_vl_text qwen3_vl_moe_text "
     "qwen3_omni_moe_text lfm2 lfm2_moe lfm3 hy_v3 exaone4 exaone_moe mellum laguna step3p5 minimax_m3_vl_text "
     "gemma3_text gemma4_text gemma4_unified_text gemma3n_text afmoe beam flint molmo2_text apertus "
     "hunyuan_v1_dense hunyuan_v1_moe hunyuan_vl_text inkling_text"},
    {HfTrait::wide_norms, "olmo_hybrid olmo2 olmo3 olmoe flex_olmo minimax_m2"},
    {HfTrait::shares_values, "gemma3n_text"},
    {HfTrait::no_gate,
     "gpt2 gpt-sw3 gpt_bigcode gpt_neo gptj codegen phi gpt_neox gpt_neox_japanese bloom falcon opt xglm "
     "starcoder2 persimmon fuyu openai-gpt biogpt ctrl mpt nemotron arcee apertus nanochat cosmos3_edge_text "
     "jais2 nemotron_h fun_asr_nano gradium_phonon_tts pocket_tts t5 longt5 rwkv",
     old_encoders,
     old_decoders},
    {HfTrait::mlp_bias,
     "gpt2 gpt-sw3 gpt_bigcode gpt_neo gptj codegen phi gpt_neox bloom opt xglm starcoder2 persimmon fuyu "
     "openai-gpt biogpt ctrl fun_asr_nano jais2 recurrent_gemma",
     old_encoders,
     old_decoders},
    {HfTrait::expert_bias, "gpt_oss"},
    {HfTrait::shared_gate, "qwen3_next qwen3_5_moe_text qwen4_exp_text qwen2_moe"},
    {HfTrait::one_shared, "llama4_text"},
    {HfTrait::layer_norm,
     "gpt2 gpt-sw3 gpt_bigcode gpt_neo gptj codegen phi gpt_neox gpt_neox_japanese bloom falcon opt xglm "
     "starcoder2 persimmon fuyu openai-gpt biogpt ctrl fun_asr_nano stablelm phimoe nemotron jais2 "
     "gradium_phonon_tts pocket_tts",
     old_encoders,
     old_decoders},
    {HfTrait::one_norm, "cohere cohere2 cohere2_moe phi gptj codegen falcon"},
    {HfTrait::no_norm, "olmo nanochat hrm_text qwen4_exp_text"},
    {HfTrait::four_norms,
     "gemma2 gemma3_text gemma4_text gemma4_unified_text gemma3n_text glm4 glm4v_text glm_ocr_text kolibri1 "
     "afmoe beam muse_glimmer_text muse_spark_text lfm3 hyperclovax"},
    {HfTrait::one_mixer, "nemotron_h mamba falcon_mamba mamba2"},
    {HfTrait::full_rank_gates, "bailing_hybrid"},
    {HfTrait::inner_norms, "jamba"},
    {HfTrait::inner_is_mlp, "mamba falcon_mamba"},
    {HfTrait::plain_state, "falcon_h1"},
    {HfTrait::head_layer, "modernbert-decoder", old_encoders},
    {HfTrait::two_mlps, "higgs_audio_v2"},
    {HfTrait::positions,
     "gpt2 gpt-sw3 gpt_bigcode gpt_neo biogpt openai-gpt bart mbart marian pegasus plbart m2m_100 blenderbot "
     "blenderbot-small"},
    {HfTrait::short_positions,
     "bert megatron-bert roberta camembert xlm-roberta data2vec-text electra big_bird ernie git"},
    {HfTrait::long_positions, "opt"},
    {HfTrait::half_size, "recurrent_gemma moshi kyutai_speech_to_text"},
    {HfTrait::hyper_short, "hy_v4"},
    {HfTrait::shared_layers, "zamba zamba2"},
    {HfTrait::experts_beside, "longcat_flash"},
};

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = words.find(' ');
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(end == std::string_view::npos ? words.size() : end + 1);
  }
  return false;
}

bool is_in(const TraitRow& row, std::string_view model_type) {
  for (const std::string_view words : {row.model_types, row.more, row.still_more})
    if (has_word(words, model_type)) return true;
  return false;
}

}  // namespace

bool has_trait(std::string_view model_type, HfTrait trait) {
  for (const TraitRow& row : trait_rows)
    if (row.trait == trait) return is_in(row, model_type);
  return false;
}

bool has_traits(std::string_view model_type) {
  for (const TraitRow& row : trait_rows)
    if (is_in(row, model_type)) return true;
  return false;
}

}  // namespace hybridkv
