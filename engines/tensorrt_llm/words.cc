#include "engines/tensorrt_llm/words.h"

namespace hybridkv {

namespace {

constexpr std::string_view programs_of_tensorrt_llm[] = {"trtllm-serve serve", "trtllm-serve"};
constexpr std::string_view config_flags_of_tensorrt_llm[] = {"--config", "--extra_llm_api_options"};
constexpr WordValue reuse[] = {{"true", "align"}, {"True", "align"}, {"false", "none"}, {"False", "none"}};
constexpr WordValue cache_types[] = {{"auto", ""}};

constexpr EngineWord words_of_tensorrt_llm[] = {
    {"--tp_size", "engine.tensor_parallel"},
    {"--tensor_parallel_size", "engine.tensor_parallel"},
    {"--max_batch_size", "engine.max_batch_size"},
    {"--max_num_tokens", "engine.max_num_batched_tokens"},
    {"--max_seq_len", "limits.max_model_len"},
    {.flag = "--kv_cache_dtype", .key = "engine.kv_dtype", .values = cache_types},
    {"--kv_cache_config.max_gpu_total_bytes", "engine.memory"},
    {"--kv_cache_config.tokens_per_block", "engine.tokens_per_block"},
    {"--kv_cache_config.pool_ratio", "engine.pool_ratio"},
    {"--kv_cache_config.avg_seq_len", "engine.avg_seq_len"},
    {.flag = "--kv_cache_config.enable_block_reuse", .key = "engine.cache_mode", .values = reuse},
    {"--kv_cache_config.enable_partial_reuse", "engine.enable_partial_reuse"},
    {"--kv_cache_config.use_kv_cache_manager_v2", "engine.use_kv_cache_manager_v2"},
    {"--kv_cache_config.host_cache_size", "engine.host_cache_size"},
    {.flag = "--kv_cache_config.dtype", .key = "engine.kv_dtype", .values = cache_types},
    {.flag = "--kv_cache_config.mamba_ssm_cache_dtype", .key = "engine.ssm_dtype", .values = cache_types},
    {"--kv_cache_config.mamba_state_config.periodic_snapshot_interval", "engine.periodic_snapshot_interval"},
    {"--kv_cache_config.mamba_state_config.additional_snapshot_offsets_from_start",
     "engine.additional_snapshot_offsets_from_start"},
    {"--kv_cache_config.mamba_state_config.additional_snapshot_offsets_from_end",
     "engine.additional_snapshot_offsets_from_end"},
    {"--kv_cache_config.mamba_state_config.enable_branch_snapshot", "engine.enable_branch_snapshot"},
    {"--kv_cache_config.mamba_state_cache_interval", "engine.mamba_state_cache_interval"},
    {"--enable_chunked_prefill", "", "true"},
    {"--trust_remote_code", "", "true"},
    {"--host"},
    {"--port"},
    {"--backend"},
    {"--ep_size"},
    {"--tokenizer"},
    {"--kv_cache_free_gpu_memory_fraction"},
    {"--kv_cache_config.free_gpu_memory_fraction"},
    {"--reasoning_parser"},
    {"--tool_parser"},
};

}  // namespace

constinit const CommandGrammar command_of_tensorrt_llm{.example = "trtllm-serve MODEL --tp_size 2 --config FILE",
                                                       .programs = programs_of_tensorrt_llm,
                                                       .words = words_of_tensorrt_llm,
                                                       .variables = {},
                                                       .model_flags = {},
                                                       .config_flags = config_flags_of_tensorrt_llm};

}  // namespace hybridkv
