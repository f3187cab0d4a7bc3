#include "engines/sglang/start_log.h"

namespace hybridkv {

namespace {

constexpr std::string_view arguments = "ServerArgs(", pools = "max_total_num_tokens=";

constexpr LogPattern settings_of_sglang[] = {
    {LogKey::model, "model_path='", ValueForm::word, {}, arguments},
    {LogKey::max_model_len, "context_length=", ValueForm::number, {}, arguments},
    {LogKey::max_model_len, "context_len=", ValueForm::number, {}, pools},
    {LogKey::tensor_parallel, "tp_size=", ValueForm::number, {}, arguments},
    {LogKey::kv_dtype, "kv_cache_dtype='", ValueForm::word, {}, arguments},
    {LogKey::kv_dtype, "dtype: torch.", ValueForm::word, {}, "KV Cache is allocated"},
    {LogKey::kv_dtype, "float8_e4m3", ValueForm::itself, {}, "KV Cache is allocated", "fp8_e4m3"},
    {LogKey::kv_dtype, "float8_e5m2", ValueForm::itself, {}, "KV Cache is allocated", "fp8_e5m2"},
    {LogKey::ssm_dtype, "mamba_ssm_dtype='", ValueForm::word, {}, arguments},
    {LogKey::prefix_caching, "disable_radix_cache=True", ValueForm::itself, {}, arguments, "False"},
    {LogKey::prefix_caching, "disable_radix_cache=False", ValueForm::itself, {}, arguments, "True"},
    {LogKey::page_size, "page_size=", ValueForm::number, {}, arguments},
    {LogKey::max_num_seqs, "max_running_requests=", ValueForm::number, {}, arguments},
    {LogKey::speculative_tokens, "speculative_num_draft_tokens=", ValueForm::number, {}, arguments},
};
constexpr LogPattern figures_of_sglang[] = {
    {LogKey::state_slots, "max_mamba_cache_size: ", ValueForm::number},
    {LogKey::conv_size, "conv_state size: ", ValueForm::number, "GB"},
    {LogKey::ssm_size, ", ssm_state size: ", ValueForm::number, "GB"},
    {LogKey::token_slots, pools, ValueForm::number},
    {LogKey::token_slots, "#tokens: ", ValueForm::number, {}, "KV Cache is allocated"},
    {LogKey::k_size, "K size: ", ValueForm::number, " GB", "KV Cache is allocated"},
    {LogKey::v_size, "V size: ", ValueForm::number, " GB", "KV Cache is allocated"},
    {LogKey::running_limit, "max_running_requests=", ValueForm::number, {}, pools},
};

constexpr std::string_view run_lines_of_sglang[] = {"Prefill batch", "Decode batch"};
constexpr RunPattern run_values_of_sglang[] = {
    {RunKey::running, "#running-req: "},
    {RunKey::waiting, "#queue-req: "},
    {RunKey::kv_usage, "token usage: ", 100},
    {RunKey::state_usage, "mamba usage: ", 100},
    {RunKey::hit_tokens, "#cached-token: ", 1, RunJoin::addends},
    {RunKey::queried_tokens, "#cached-token: ", 1, RunJoin::addends},
    {RunKey::queried_tokens, "#new-token: ", 1, RunJoin::addends},
    {RunKey::prompt_rate, "input throughput (token/s): "},
    {RunKey::generation_rate, "gen throughput (token/s): "},
};
constexpr RunPattern metrics_of_sglang[] = {
    {RunKey::running, "sglang:num_running_reqs", 1, RunJoin::count},
    {RunKey::waiting, "sglang:num_queue_reqs", 1, RunJoin::count},
    {RunKey::kv_usage, "sglang:token_usage", 100},
    {RunKey::state_usage, "sglang:mamba_usage", 100},
    {RunKey::hit_rate, "sglang:cache_hit_rate", 100},
    {RunKey::generation_rate, "sglang:gen_throughput"},
};
constinit const RunTexts run_texts_of_sglang{.lines = run_lines_of_sglang,
                                             .several = {},
                                             .values = run_values_of_sglang,
                                             .metrics = metrics_of_sglang,
                                             .prompt_lengths = "sglang:prompt_tokens_histogram",
                                             .hits_over = "of the last batch"};

constinit const LogTexts log_texts_of_sglang{
    .engine = "SGLang",
    .command = "python -m sglang.launch_server --model-path Qwen/Qwen3.5-4B",
    .begin = "server_args=ServerArgs(",
    .samples = "\"Mamba Cache is allocated. max_mamba_cache_size: 196, …\" or \"max_total_num_tokens=345676, …\"",
    .settings = settings_of_sglang,
    .figures = figures_of_sglang,
    .block_overrides = {},
    .repeat = LogRepeat::first,  // a drafter has a cache of its own behind that of the model
    .size_unit = "GB",
    .run = &run_texts_of_sglang};

}  // namespace

constinit const EngineLog log_of_sglang{.texts = &log_texts_of_sglang, .assumed = "the rules of 0.5.23"};

}  // namespace hybridkv
