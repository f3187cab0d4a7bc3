#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "planner/engine_rules.h"
#include "planner/replay_settings.h"
#include "planner/state_settings.h"

namespace hybridkv {

/// Source: the models that vLLM 0.33.0 has no class for, or no longer has.
inline constexpr UnservedModels unserved_by_vllm_0_33[] = {
    {"Bamba", "BambaForCausalLM"},
    {"MiniMax-Text", "MiniMaxText01ForCausalLM"},
    {"MiniMax-M1", "MiniMaxM1ForCausalLM"},
    {"plamo-2", "Plamo2ForCausalLM"},
    {"", "RecurrentGemmaForCausalLM", "rg_lru"},
    {"", "RwkvForCausalLM", "rwkv4"},
    {"", "RWKV7ForCausalLM", "rwkv"},
    {"", "xLSTMForCausalLM", "xlstm"},
    {"", "ZayaForCausalLM", "cca"}};

inline constexpr OwnKey keys_of_vllm_0_33[] = {
    {&replay_key::use_replayssm, "pages of mamba2 states hold the inputs of the last tokens too, and a request has no "
                                 "states for drafts; served for Nemotron-H models"},
    {&replay_key::replayssm_buffer_len, "tokens whose inputs use_replayssm keeps"},
    {&replay_key::mamba_backend, "kernels of mamba2 states; with flashinfer use_replayssm keeps the inputs of a step "
                                 "more, takes drafts and caches no prefixes"},
    {&state_key::enable_mamba_shared_prefix_checkpoint,
     "states are kept at the very token where prompts part; only where a drafter drops a block, and prefixes are found "
     "at units shorter than the block of states"},
    {&state_key::enable_mamba_cache_stochastic_rounding,
     "states of ssm_dtype fp16, which it needs, are rounded up or down at random"}};

/// Throws SpecError for what it refuses at its start.
void validate_vllm_0_33(const ModelSpec& model, const EngineSpec& engine);
std::string_view source_of_vllm_0_33(RuleOf rule);

/// Keys that came with it, or were planned with it first.
inline constexpr auto keys_since_vllm_0_33 = std::to_array<std::string_view>(
    {"checkpoint_alignment_tokens", "checkpoint_blocks", "pipeline_parallel", "pipeline_memory",
     "decode_context_parallel", "hybrid_manager", "prefix_match_unit_tokens"});

inline constexpr auto taken_by_vllm_0_33 = [] {
  std::array<std::string_view, block_keys.size() + keys_since_vllm_0_33.size()> keys;
  const auto rest = std::copy(block_keys.begin(), block_keys.end(), keys.begin());
  std::copy(keys_since_vllm_0_33.begin(), keys_since_vllm_0_33.end(), rest);
  return keys;
}();

/// vLLM 0.33.0, a constant that other releases are made of. By running its own functions: modes none and align, align
/// where prefixes are cached, which they are by default; blocks are multiples of what a scan can export as a
/// checkpoint, and a request holds a block for it; one allocation in one of six orders; the null block is reserved
/// before a request is said to fit; asynchronous scheduling has two steps in flight; only the last state of a prompt is
/// kept.
inline constexpr EngineRules rules_of_vllm_0_33 = {
    .name = "vllm-0.33",
    .title = "vLLM 0.33.0",
    .unserved = unserved_by_vllm_0_33,
    .own_keys = keys_of_vllm_0_33,
    .source = source_of_vllm_0_33,
    .takes = taken_by_vllm_0_33,
    .validate = validate_vllm_0_33,
    .has_mode_all = false,
    .caches_by_default = true,
    .caches_states_alone = false,  // ModelConfig.is_prefix_caching_supported: experimental without attention
    .one_allocation = true,
    .builder = "vllm-builder",
    .drafts_look_ahead = true,
    .drafts_join = true,
    .aligns_to_checkpoints = true,
    .counts_checkpoint_blocks = true,
    .convs_hold_drafts = true,
    .match_units = true,
    .follows_checkpoint = true,
    .reserves_null_block = true,
    .without_encoders = {},
    .reserves_encoder_batch = true,
    .latent_hybrid_grain = 128,
    .concurrent_batches = 2,
    .retention_tokens = 0};

}  // namespace hybridkv
