#include "engines/llama_cpp/words.h"

#include <cmath>
#include <cstdlib>

namespace hybridkv {

namespace {

constexpr std::string_view programs_of_llama_cpp[] = {"llama-server"};
constexpr std::string_view model_flags_of_llama_cpp[] = {"--model", "-m", "--hf-repo", "-hf"};

constexpr EngineWord words_of_llama_cpp[] = {
    {"--ctx-size", "engine.ctx_size"},
    {"-c", "engine.ctx_size"},
    {"--kv-unified", "engine.kv_unified", "true"},
    {"-kvu", "engine.kv_unified", "true"},
    {"--no-kv-unified", "engine.kv_unified", "false"},
    {"--parallel", "engine.max_running_requests"},
    {"-np", "engine.max_running_requests"},
    {"--ctx-checkpoints", "engine.ctx_checkpoints"},
    {"--swa-checkpoints", "engine.ctx_checkpoints"},
    {"--checkpoint-min-step", "engine.checkpoint_min_step"},
    {"--cache-ram", "engine.cache_ram"},
    {"-cram", "engine.cache_ram"},
    {"--batch-size", "engine.batch_size"},
    {"-b", "engine.batch_size"},
    {"--ubatch-size", "engine.ubatch_size"},
    {"-ub", "engine.ubatch_size"},
    {"--no-cache-idle-slots", "engine.cache_idle_slots", "false"},
    {"--slot-prompt-similarity", "engine.slot_prompt_similarity_percent"},
    {"-sps", "engine.slot_prompt_similarity_percent"},
    {"--swa-full", "engine.swa_full", "true"},
    {"--cache-type-k", "engine.cache_type_k"},
    {"-ctk", "engine.cache_type_k"},
    {"--cache-type-v", "engine.cache_type_v"},
    {"-ctv", "engine.cache_type_v"},
    {"--flash-attn", "engine.flash_attn"},
    {"-fa", "engine.flash_attn"},
    {"--spec-type", "engine.spec_type"},
    {"--draft-max", "engine.speculative_tokens"},
    {"--jinja", "", "true"},
    {"--no-mmap", "", "true"},
    {"--mlock", "", "true"},
    {"--metrics", "", "true"},
    {"--no-webui", "", "true"},
    {"--host"},
    {"--port"},
    {"--n-gpu-layers"},
    {"-ngl"},
    {"--split-mode"},
    {"-sm"},
    {"--tensor-split"},
    {"-ts"},
    {"--main-gpu"},
    {"--n-cpu-moe"},
    {"--threads"},
    {"-t"},
    {"--alias"},
    {"--chat-template"},
    {"--reasoning-format"},
    {"--temp"},
    {"--top-p"},
    {"--top-k"},
    {"--min-p"},
};

/// The share of a prompt that a slot has to hold already is percent here.
void settle_llama_cpp(KeyValues& keys) {
  if (const auto share = keys.find("engine.slot_prompt_similarity_percent"); share != keys.end()) {
    char* end = nullptr;
    const double value = std::strtod(share->second.c_str(), &end);
    if (end != share->second.c_str() && *end == '\0' && value >= 0 && value <= 1)
      share->second = std::to_string(std::lround(value * 100));
  }
}

/// "unsloth/Qwen3.5-4B-GGUF:Q4_K_M" and "Qwen3.5-4B-Q4_K_M.gguf" as "Qwen3.5-4B".
std::string model_of_weights(std::string_view weights) {
  weights = weights.substr(weights.rfind('/') + 1);
  weights = weights.substr(0, weights.find(':'));
  for (const std::string_view end : {".gguf", "-GGUF"})
    if (weights.ends_with(end)) weights.remove_suffix(end.size());
  // The type of quantised weights is the last part: Q4_K_M, IQ4_XS, UD-Q4_K_XL, BF16.
  const std::size_t last = weights.rfind('-');
  if (last == std::string_view::npos || last + 2 >= weights.size()) return std::string(weights);
  const std::string_view part = weights.substr(last + 1);
  const bool is_type = part == "BF16" || part == "F16" || part.starts_with("IQ") ||
                       (part[0] == 'Q' && part[1] >= '1' && part[1] <= '8' && part.find('_') != std::string_view::npos);
  if (!is_type) return std::string(weights);
  weights = weights.substr(0, last);
  if (weights.ends_with("-UD")) weights.remove_suffix(3);
  return std::string(weights);
}

}  // namespace

constinit const CommandGrammar command_of_llama_cpp{.example = "llama-server --model MODEL --ctx-size 32768",
                                                    .programs = programs_of_llama_cpp,
                                                    .words = words_of_llama_cpp,
                                                    .variables = {},
                                                    .model_flags = model_flags_of_llama_cpp,
                                                    .config_flags = {},
                                                    .settle = settle_llama_cpp,
                                                    .model_name = model_of_weights};

}  // namespace hybridkv
