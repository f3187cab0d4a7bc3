#include "engines/tensorrt_llm/start_log.h"

namespace hybridkv {

namespace {

constexpr std::string_view paged = "for max tokens in paged KV cache (";

constexpr LogPattern settings_of_tensorrt_llm[] = {
    {LogKey::max_model_len, "max_seq_len=", ValueForm::number, {}, "TRT-LLM"},
    {LogKey::tensor_parallel, "tensor_parallel_size=", ValueForm::number, {}, "TRT-LLM"},
};
constexpr LogPattern figures_of_tensorrt_llm[] = {
    {LogKey::block_size, "Number of tokens per block: ", ValueForm::number},
    {LogKey::num_blocks, "primary blocks=", ValueForm::number},
    {LogKey::num_blocks, "blocks in KV cache primary pool: ", ValueForm::number},
    {LogKey::kv_size, "Allocated ", ValueForm::number, " GiB ", paged},
    {LogKey::token_slots, paged, ValueForm::number, ")"},
};

constexpr RunPattern metrics_of_tensorrt_llm[] = {
    {RunKey::hit_rate, "trtllm_kv_cache_hit_rate", 100},
    {RunKey::kv_usage, "trtllm_kv_cache_utilization", 100},
};
constinit const RunTexts run_texts_of_tensorrt_llm{.lines = {},
                                                   .several = {},
                                                   .values = {},
                                                   .metrics = metrics_of_tensorrt_llm,
                                                   .prompt_lengths = {},
                                                   .hits_over = "as its page has it"};

constinit const LogTexts log_texts_of_tensorrt_llm{
    .engine = "TensorRT-LLM",
    .command = "trtllm-serve Qwen/Qwen3.5-4B",
    .begin = "TensorRT-LLM version",
    .samples = "\"[MemUsageChange] Allocated 76.12 GiB for max tokens in paged KV cache (2494464).\"",
    .settings = settings_of_tensorrt_llm,
    .figures = figures_of_tensorrt_llm,
    .block_overrides = {},
    .repeat = LogRepeat::last,  // it measures with a small cache first
    .size_unit = "GiB",
    .run = &run_texts_of_tensorrt_llm};

}  // namespace

constinit const EngineLog log_of_tensorrt_llm{.texts = &log_texts_of_tensorrt_llm, .assumed = "its rules"};

}  // namespace hybridkv
