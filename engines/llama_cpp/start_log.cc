#include "engines/llama_cpp/start_log.h"

namespace hybridkv {

namespace {

constexpr std::string_view of_cells = "llama_kv_cache: size =", of_rows = "llama_memory_recurrent: size =";

constexpr LogPattern settings_of_llama_cpp[] = {
    {LogKey::model, "loading model '", ValueForm::word},
    {LogKey::max_model_len, "n_ctx_seq ", ValueForm::number, {}, "llama_context: n_ctx_seq "},
    {LogKey::max_model_len, "n_ctx_seq     = ", ValueForm::number, {}, "llama_context:"},
    {LogKey::max_num_seqs, "n_seq_max     = ", ValueForm::number, {}, "llama_context:"},
    {LogKey::kv_dtype, "K (", ValueForm::word, "):", of_cells},
    {LogKey::streams, "/", ValueForm::number, " seqs)", of_cells},
};
constexpr LogPattern figures_of_llama_cpp[] = {
    {LogKey::kv_size, "size =", ValueForm::number, " MiB", of_cells},
    {LogKey::token_slots, "(", ValueForm::number, " cells", of_cells},
    {LogKey::k_size, "K (f32):", ValueForm::number, " MiB", of_cells},
    {LogKey::k_size, "K (f16):", ValueForm::number, " MiB", of_cells},
    {LogKey::k_size, "K (bf16):", ValueForm::number, " MiB", of_cells},
    {LogKey::k_size, "K (q8_0):", ValueForm::number, " MiB", of_cells},
    {LogKey::k_size, "K (q5_0):", ValueForm::number, " MiB", of_cells},
    {LogKey::k_size, "K (q5_1):", ValueForm::number, " MiB", of_cells},
    {LogKey::k_size, "K (q4_0):", ValueForm::number, " MiB", of_cells},
    {LogKey::k_size, "K (q4_1):", ValueForm::number, " MiB", of_cells},
    {LogKey::k_size, "K (iq4_nl):", ValueForm::number, " MiB", of_cells},
    {LogKey::v_size, "V (f32):", ValueForm::number, " MiB", of_cells},
    {LogKey::v_size, "V (f16):", ValueForm::number, " MiB", of_cells},
    {LogKey::v_size, "V (bf16):", ValueForm::number, " MiB", of_cells},
    {LogKey::v_size, "V (q8_0):", ValueForm::number, " MiB", of_cells},
    {LogKey::v_size, "V (q5_0):", ValueForm::number, " MiB", of_cells},
    {LogKey::v_size, "V (q5_1):", ValueForm::number, " MiB", of_cells},
    {LogKey::v_size, "V (q4_0):", ValueForm::number, " MiB", of_cells},
    {LogKey::v_size, "V (q4_1):", ValueForm::number, " MiB", of_cells},
    {LogKey::v_size, "V (iq4_nl):", ValueForm::number, " MiB", of_cells},
    {LogKey::state_slots, "(", ValueForm::number, " cells", of_rows},
    {LogKey::conv_size, "R (f32):", ValueForm::number, " MiB", of_rows},
    {LogKey::ssm_size, "S (f32):", ValueForm::number, " MiB", of_rows},
};

constexpr RunPattern metrics_of_llama_cpp[] = {
    {RunKey::running, "llamacpp:requests_processing"},
    {RunKey::waiting, "llamacpp:requests_deferred"},
    {RunKey::kv_usage, "llamacpp:kv_cache_usage_ratio", 100},
    {RunKey::prompt_rate, "llamacpp:prompt_tokens_seconds"},
    {RunKey::generation_rate, "llamacpp:predicted_tokens_seconds"},
};
constinit const RunTexts run_texts_of_llama_cpp{.lines = {},
                                                .several = {},
                                                .values = {},
                                                .metrics = metrics_of_llama_cpp,
                                                .prompt_lengths = {},
                                                .hits_over = {}};

constinit const LogTexts log_texts_of_llama_cpp{
    .engine = "llama.cpp",
    .command = "llama-server -m Qwen3.5-4B.gguf",
    .begin = "load_model: loading model",
    .samples = "\"llama_kv_cache: size = 1024.00 MiB ( 32768 of_cells, …\" or \"llama_memory_recurrent: size = …\"",
    .settings = settings_of_llama_cpp,
    .figures = figures_of_llama_cpp,
    .block_overrides = {},
    .repeat = LogRepeat::last,  // it tries smaller contexts until one fits
    .size_unit = "MiB",
    .run = &run_texts_of_llama_cpp};

}  // namespace

constinit const EngineLog log_of_llama_cpp{.texts = &log_texts_of_llama_cpp, .assumed = "its rules"};

}  // namespace hybridkv
