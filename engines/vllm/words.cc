#include "engines/vllm/words.h"

namespace hybridkv {

namespace {

constexpr std::string_view programs_of_vllm[] = {"vllm serve", "vllm.entrypoints.openai.api_server",
                                                 "vllm/vllm-openai"};
constexpr std::string_view model_flags_of_vllm[] = {"--model", "--model-tag"};
constexpr std::string_view config_flags_of_vllm[] = {"--config"};

constexpr WordValue model_types[] = {{"auto", ""}}, lengths[] = {{"auto", ""}, {"-1", ""}};
constexpr WordValue drafters[] = {{"mtp", "1"},           {"qwen3_next_mtp", "1"}, {"qwen3_5_mtp", "1"},
                                  {"deepseek_mtp", "1"},  {"nemotron_h_mtp", "1"}, {"ngram", ""},
                                  {"mimo_mtp", "1"},      {"glm4_moe_mtp", "1"},   {"suffix", ""}};

constexpr EngineWord words_of_vllm[] = {
    {"--tensor-parallel-size", "engine.tensor_parallel"},
    {"-tp", "engine.tensor_parallel"},
    {"--pipeline-parallel-size", "engine.pipeline_parallel"},
    {"-pp", "engine.pipeline_parallel"},
    {"--decode-context-parallel-size", "engine.decode_context_parallel"},
    {"-dcp", "engine.decode_context_parallel"},
    {.flag = "--max-model-len", .key = "limits.max_model_len", .values = lengths, .number = WordNumber::human},
    {.flag = "--max-num-batched-tokens", .key = "engine.max_num_batched_tokens", .number = WordNumber::human},
    {"--max-num-seqs", "boot.max_num_seqs"},
    {"--max-num-active-seqs", "simulate.max_num_active_seqs"},
    {"--long-prefill-token-threshold", "simulate.long_prefill_threshold_tokens"},
    {"--long-prefill-token-threshold-adaptive", "simulate.long_prefill_threshold_adaptive", "true"},
    {.flag = "--kv-cache-dtype", .key = "engine.kv_dtype", .values = model_types},
    {.flag = "--mamba-cache-dtype", .key = "engine.conv_dtype", .values = model_types},
    {.flag = "--mamba-ssm-cache-dtype", .key = "engine.ssm_dtype", .values = model_types},
    {"--enable-prefix-caching", "engine.cache_mode", "align"},
    {"--no-enable-prefix-caching", "engine.cache_mode", "none"},
    {"--mamba-cache-mode", "engine.cache_mode"},
    {"--block-size", "engine.block_size_tokens"},
    {"--mamba-block-size", "engine.mamba_block_size_tokens"},
    {"--prefix-match-unit", "simulate.match_unit_tokens"},
    {"--prefix-cache-retention-interval", "simulate.retention_interval_tokens"},
    {"--num-gpu-blocks-override", "engine.num_blocks"},
    {.flag = "--kv-cache-memory-bytes", .key = "engine.memory", .number = WordNumber::human},
    {"--disable-hybrid-kv-cache-manager", "engine.hybrid_manager", "false"},
    {"--attn-pack-size", "engine.attention_pack_size"},
    {"--enable-mamba-shared-prefix-checkpoint", "engine.enable_mamba_shared_prefix_checkpoint", "true"},
    {"--enable-mamba-cache-stochastic-rounding", "engine.enable_mamba_cache_stochastic_rounding", "true"},
    {"--mamba-backend", "engine.mamba_backend"},
    {"--use-replayssm", "engine.use_replayssm", "true"},
    {"--replayssm-buffer-len", "engine.replayssm_buffer_len"},
    {.flag = "--speculative-config.method", .key = "engine.mtp_layers", .values = drafters, .only_these = true},
    {"--speculative-config.num_speculative_tokens", "engine.speculative_tokens"},
    {"--gpu-memory-utilization", "boot.utilization"},
    {"--enforce-eager", "boot.enforce_eager", "true"},
    // These change nothing of the cache, or only what weights take.
    {"--trust-remote-code", "", "true"},
    {"--enable-expert-parallel", "", "true"},
    {"--enable-auto-tool-choice", "", "true"},
    {"--enable-chunked-prefill", "", "true"},
    {"--async-scheduling", "", "true"},
    {"--no-async-scheduling", "", "true"},
    {"--disable-log-requests", "", "true"},
    {"--disable-log-stats", "", "true"},
    {"--enable-log-requests", "", "true"},
    {"--language-model-only", "", "true"},
    {"--headless", "", "true"},
    {"--host"},
    {"--port"},
    {"--api-key"},
    {"--served-model-name"},
    {"--data-parallel-size"},
    {"-dp"},
    {"--data-parallel-size-local"},
    {"--data-parallel-address"},
    {"--distributed-executor-backend"},
    {"--download-dir"},
    {"--load-format"},
    {"--tokenizer"},
    {"--tokenizer-mode"},
    {"--tool-call-parser"},
    {"--reasoning-parser"},
    {"--chat-template"},
    {"--limit-mm-per-prompt"},
    {"--mm-processor-kwargs"},
    {"--compilation-config"},
    {"-O"},
    {"--generation-config"},
    {"--override-generation-config"},
    {"--default-chat-template-kwargs"},
    {"--seed"},
    {"--uvicorn-log-level"},
    {"--api-server-count"},
    {"--moe-backend"},
    {"--all2all-backend"},
};
constexpr EngineWord variables_of_vllm[] = {{"VLLM_SSM_CONV_STATE_LAYOUT", "engine.conv_state_layout"},
                                    {"VLLM_KV_CACHE_LAYOUT", "engine.cache_order"}};

/// Requests that run are those of a replay too; the engine writes the order of a convolution in capitals.
void settle_vllm(KeyValues& keys) {
  if (const auto seqs = keys.find("boot.max_num_seqs"); seqs != keys.end())
    keys.emplace("simulate.max_num_seqs", seqs->second);
  if (const auto layout = keys.find("engine.conv_state_layout"); layout != keys.end() && layout->second == "DS")
    layout->second = "ds";
}

}  // namespace

constinit const CommandGrammar command_of_vllm{.example = "vllm serve MODEL --tensor-parallel-size 2",
                                               .programs = programs_of_vllm,
                                               .words = words_of_vllm,
                                               .variables = variables_of_vllm,
                                               .model_flags = model_flags_of_vllm,
                                               .config_flags = config_flags_of_vllm,
                                               .settle = settle_vllm};

}  // namespace hybridkv
