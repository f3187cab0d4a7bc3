#include <array>

#include "engines/vllm/start.h"

namespace hybridkv {

namespace {

constexpr std::string_view picture = "\u2588";  ///< a part of it

constexpr std::string_view page = "vllm:cache_config_info{";  ///< of /metrics: the settings of the cache as labels

constexpr std::string_view free_memory = "is less than desired GPU memory utilization";

constexpr LogPattern settings_of_vllm[] = {
    {LogKey::version, "LLM engine (v", ValueForm::word},
    {LogKey::version, "API server version ", ValueForm::word},
    {LogKey::model, "model='", ValueForm::word},
    {LogKey::model, "'model': '", ValueForm::word},
    {LogKey::model, "'model_tag': '", ValueForm::word},
    {LogKey::model, "Starting to load model ", ValueForm::word},
    {LogKey::max_model_len, "max_seq_len=", ValueForm::number},
    {LogKey::max_model_len, "'max_model_len': ", ValueForm::number},
    {LogKey::max_model_len, "Using max model len ", ValueForm::number},
    {LogKey::tensor_parallel, "tensor_parallel_size=", ValueForm::number},
    {LogKey::tensor_parallel, "'tensor_parallel_size': ", ValueForm::number},
    {LogKey::pipeline_parallel, "pipeline_parallel_size=", ValueForm::number},
    {LogKey::decode_context_parallel, "decode_context_parallel_size=", ValueForm::number},
    {LogKey::dtype, " dtype=torch.", ValueForm::word},
    {LogKey::dtype, ",dtype=torch.", ValueForm::word},
    {LogKey::kv_dtype, "kv_cache_dtype=", ValueForm::word},
    {LogKey::kv_dtype, "'kv_cache_dtype': '", ValueForm::word},
    {LogKey::kv_dtype, "Using ", ValueForm::word, " data type to store kv cache"},
    {LogKey::ssm_dtype, "mamba_ssm_cache_dtype=", ValueForm::word},
    {LogKey::ssm_dtype, "'mamba_ssm_cache_dtype': '", ValueForm::word},
    {LogKey::cache_mode, "Mamba cache mode is set to '", ValueForm::word},
    {LogKey::cache_mode, "'mamba_cache_mode': '", ValueForm::word},
    {LogKey::prefix_caching, "enable_prefix_caching=", ValueForm::word},
    {LogKey::prefix_caching, "'enable_prefix_caching': ", ValueForm::word},
    {LogKey::speculative_tokens, "num_speculative_tokens=", ValueForm::number},
    {LogKey::speculative_tokens, "num_speculative_tokens': ", ValueForm::number},
    {LogKey::speculative_tokens, "num_speculative_tokens\": ", ValueForm::number},
    {LogKey::speculative_tokens, "num_spec_tokens=", ValueForm::number},
    {LogKey::draft_method, "SpeculativeConfig(method='", ValueForm::word},
    {LogKey::draft_method, "'method': '", ValueForm::word},
    {LogKey::attention_pack_size, "attn_pack_size=", ValueForm::number},
    {LogKey::attention_pack_size, "'attn_pack_size': ", ValueForm::number},
    {LogKey::user_block_size, "'block_size': ", ValueForm::number},
    {LogKey::max_num_batched_tokens, "max_num_batched_tokens=", ValueForm::number},
    {LogKey::max_num_batched_tokens, "'max_num_batched_tokens': ", ValueForm::number},
    {LogKey::max_num_seqs, "max_num_seqs=", ValueForm::number},
    {LogKey::max_num_seqs, "'max_num_seqs': ", ValueForm::number},
    {LogKey::max_num_seqs, "max_num_seqs (", ValueForm::number, ")"},
    {LogKey::max_model_len, "max seq len (", ValueForm::number, ")"},
    {LogKey::failure, "No available memory for the cache blocks", ValueForm::itself, {}, {}, "memory"},
    {LogKey::failure, "To serve at least one request with the model", ValueForm::itself, {}, {}, "longest_request"},
    {LogKey::failure, "exceeds available Mamba cache blocks", ValueForm::itself, {}, {}, "running_requests"},
    {LogKey::failure, free_memory, ValueForm::itself, {}, {}, "free_memory"},
    {LogKey::free_gib, "(", ValueForm::number, "/", free_memory},
    {LogKey::total_gib, "/", ValueForm::number, " GiB) on startup", free_memory},
    {LogKey::utilization, "memory utilization (", ValueForm::number, ", ", free_memory},
    {LogKey::wanted_gib, ", ", ValueForm::number, " GiB).", free_memory},
    {LogKey::match_unit, "'prefix_match_unit': ", ValueForm::number},
    {LogKey::retention, "'prefix_cache_retention_interval': ", ValueForm::number},
    {LogKey::model, "model_name=\"", ValueForm::word, {}, "vllm:num_requests_running{"},
    {LogKey::kv_dtype, ",cache_dtype=\"", ValueForm::word, {}, page},
    {LogKey::ssm_dtype, "mamba_ssm_cache_dtype=\"", ValueForm::word, {}, page},
    {LogKey::cache_mode, "mamba_cache_mode=\"", ValueForm::word, {}, page},
    {LogKey::prefix_caching, "enable_prefix_caching=\"", ValueForm::word, {}, page},
    {LogKey::match_unit, "prefix_match_unit=\"", ValueForm::number, {}, page},
    {LogKey::retention, "prefix_cache_retention_interval=\"", ValueForm::number, {}, page},
    // The release and the model stand beside a picture that the API server prints.
    {.key = LogKey::version, .before = " version ", .beside = picture},
    {.key = LogKey::model, .before = " model   ", .beside = picture},
    {LogKey::prefix_caching, "--no-enable-prefix-caching", ValueForm::itself, {}, {}, "False"},
    {.key = LogKey::layout, .before = "layout", .form = ValueForm::order},
    {.key = LogKey::layout, .before = "Layout", .form = ValueForm::order},
    // Any other kernel than FlashInfer's is Triton's, and the line that says so comes last.
    {LogKey::gdn_prefill, "GDN prefill kernel", ValueForm::itself, {}, {}, "Triton"},
    {LogKey::gdn_prefill, "GDN prefill kernel", ValueForm::itself, {}, "FlashInfer", "FlashInfer"},
};
constexpr LogPattern figures_of_vllm[] = {
    {LogKey::block_size, "Setting attention block size to ", ValueForm::number, " tokens"},
    {LogKey::padding_percent, "Padding mamba page size by ", ValueForm::number, "%"},
    {LogKey::memory_gib, "Available KV cache memory: ", ValueForm::number, " GiB"},
    {LogKey::num_blocks, "GPU blocks: ", ValueForm::number},
    {LogKey::num_blocks, "num_gpu_blocks: ", ValueForm::number},
    {LogKey::num_blocks, "num_gpu_blocks is: ", ValueForm::number},
    {LogKey::state_blocks, "available Mamba cache blocks (", ValueForm::number, ")"},
    {LogKey::kv_cache_tokens, "KV cache size: ", ValueForm::number, " tokens"},
    {LogKey::concurrency_length, "Maximum concurrency for ", ValueForm::number, " tokens per request"},
    {LogKey::concurrency, " tokens per request: ", ValueForm::number, "x"},
    {LogKey::needed_gib, "(", ValueForm::number, " GiB KV cache is needed"},
    {LogKey::checked_gib, "available KV cache memory (", ValueForm::number, " GiB)"},
    {LogKey::estimated_length, "estimated maximum model length is ", ValueForm::number},
    {LogKey::block_size, ",block_size=\"", ValueForm::number, {}, page},
    {LogKey::block_size, "{block_size=\"", ValueForm::number, {}, page},
    {LogKey::num_blocks, "num_gpu_blocks=\"", ValueForm::number, {}, page},
    {LogKey::kv_cache_tokens, "kv_cache_size_tokens=\"", ValueForm::number, {}, page},
    {LogKey::concurrency, "kv_cache_max_concurrency=\"", ValueForm::number, {}, page},
};
constexpr std::string_view overrides_of_vllm[] = {"num_gpu_blocks_override=", "'num_gpu_blocks_override': "};

}  // namespace

constinit const LogTexts log_texts_of_vllm{
    .engine = "vLLM",
    .command = "vllm serve Qwen/Qwen3.5-4B",
    .begin = "LLM engine (v",
    .samples = "\"Setting attention block size to 2096 tokens\", \"GPU KV cache size: 1,986,932 tokens\" or \"Maximum "
               "concurrency for 32,768 tokens per request: 60.64x\"",
    .settings = settings_of_vllm,
    .figures = figures_of_vllm,
    .block_overrides = overrides_of_vllm,
    .run = &run_texts_of_vllm};

namespace {

constexpr ReleaseNumber first_of_0_32{0, 32}, first_of_0_33{0, 33};
constexpr std::int64_t grains_of_june[] = {32, 64, 128};

}  // namespace

constinit const EngineLog log_of_vllm_2026_06{
    .texts = &log_texts_of_vllm, .end = first_of_0_32, .assumed = "the rules of June 2026", .grains = grains_of_june};
constinit const EngineLog log_of_vllm_0_33{
    .texts = &log_texts_of_vllm, .first = first_of_0_33, .assumed = "the rules of 0.33"};

}  // namespace hybridkv
