#include "engines/sglang/words.h"

#include <charconv>
#include <cstdint>

namespace hybridkv {

namespace {

constexpr std::string_view programs_of_sglang[] = {"sglang.launch_server", "sglang serve"};
constexpr std::string_view model_flags_of_sglang[] = {"--model-path", "--model"};
constexpr WordValue automatic[] = {{"auto", ""}};
constexpr WordValue kv_types[] = {{"auto", ""}, {"fp8_e4m3", "fp8_e4m3"}, {"bf16", "bf16"}};
constexpr WordValue algorithms[] = {{"NEXTN", "1"}, {"EAGLE", "1"}, {"NGRAM", ""}};

constexpr EngineWord words_of_sglang[] = {
    {"--tp-size", "engine.tensor_parallel"},
    {"--tensor-parallel-size", "engine.tensor_parallel"},
    {"--tp", "engine.tensor_parallel"},
    {"--dp-size", "engine.attention_data_parallel"},
    {"--data-parallel-size", "engine.attention_data_parallel"},
    {"--dp", "engine.attention_data_parallel"},
    {"--enable-dp-attention", "sglang.dp_attention", "true"},
    {"--context-length", "limits.max_model_len"},
    {"--chunked-prefill-size", "engine.max_num_batched_tokens"},
    {"--max-running-requests", "engine.max_running_requests"},
    {"--max-total-tokens", "engine.max_total_tokens"},
    {"--disable-overlap-schedule", "engine.overlap_schedule", "false"},
    {"--enable-unified-memory", "engine.unified_memory", "true"},
    {"--disable-radix-cache", "engine.cache_mode", "none"},
    {"--mamba-radix-cache-strategy", "engine.mamba_radix_cache_strategy"},
    {"--mamba-scheduler-strategy", "engine.mamba_radix_cache_strategy"},
    {"--max-mamba-cache-size", "engine.max_mamba_cache_size"},
    {"--mamba-full-memory-ratio", "engine.state_memory_ratio"},
    {"--page-size", "engine.page_size"},
    {"--mamba-track-interval", "engine.mamba_track_interval"},
    {"--enable-hierarchical-cache", "engine.enable_hierarchical_cache", "true"},
    {"--hicache-size", "engine.hicache_size"},
    {"--hicache-ratio", "engine.hicache_ratio"},
    {"--hicache-write-policy", "engine.hicache_write_policy"},
    {.flag = "--kv-cache-dtype", .key = "engine.kv_dtype", .values = kv_types},
    {.flag = "--mamba-ssm-dtype", .key = "engine.ssm_dtype", .values = automatic},
    {.flag = "--speculative-algorithm", .key = "engine.mtp_layers", .values = algorithms, .only_these = true},
    {.flag = "--speculative-algo", .key = "engine.mtp_layers", .values = algorithms, .only_these = true},
    {"--speculative-num-draft-tokens", "engine.speculative_tokens"},
    {"--enable-linear-replayssm-spec", "engine.linear_replayssm_spec", "true"},
    {"--speculative-num-steps"},
    {"--speculative-eagle-topk"},
    {"--mem-fraction-static"},
    {"--trust-remote-code", "", "true"},
    {"--enable-metrics", "", "true"},
    {"--enable-ep-moe", "", "true"},
    {"--host"},
    {"--port"},
    {"--attention-backend"},
    {"--linear-attn-backend"},
    {"--mamba-backend"},
    {"--tool-call-parser"},
    {"--reasoning-parser"},
    {"--served-model-name"},
    {"--quantization"},
    {"--cuda-graph-max-bs"},
    {"--ep-size"},
    {"--log-level"},
    {"--nnodes"},
    {"--node-rank"},
    {"--dist-init-addr"},
};
constexpr EngineWord variables_of_sglang[] = {
    {.flag = "SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK", .key = "engine.skip_decode_lock"},
    {"SGLANG_MAMBA_CONV_DTYPE", "engine.conv_dtype"}};

std::int64_t number_of(const std::string& text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() ? number : 0;
}

/// Data parallel replicas have caches of their own, alike; with attention shared out among them the ranks of heads are
/// those of all divided by theirs.
void settle_sglang(KeyValues& keys) {
  const bool shares_attention = keys.erase("sglang.dp_attention") > 0;
  if (!shares_attention) keys.erase("engine.attention_data_parallel");
  const auto ranks = keys.find("engine.tensor_parallel"), sharing = keys.find("engine.attention_data_parallel");
  if (ranks != keys.end() && sharing != keys.end()) {
    const std::int64_t all = number_of(ranks->second), parts = number_of(sharing->second);
    if (parts > 0 && all % parts == 0) ranks->second = std::to_string(all / parts);
  }
  if (const auto lock = keys.find("engine.skip_decode_lock"); lock != keys.end())
    lock->second = lock->second == "1" || lock->second == "true" ? "true" : "false";
}

}  // namespace

constinit const CommandGrammar command_of_sglang{.example = "python -m sglang.launch_server --model-path MODEL --tp 2",
                                                 .programs = programs_of_sglang,
                                                 .words = words_of_sglang,
                                                 .variables = variables_of_sglang,
                                                 .model_flags = model_flags_of_sglang,
                                                 .config_flags = {},
                                                 .settle = settle_sglang};

}  // namespace hybridkv
