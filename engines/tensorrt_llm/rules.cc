#include "engines/tensorrt_llm/rules.h"

#include "engines/shared_sources.h"
#include "planner/tensor_pool_rules.h"
#include "planner/tensor_pool_settings.h"

namespace hybridkv {

namespace {

constexpr OwnKey keys_of_tensorrt_llm[] = {
    {&group_key::mamba_state_cache_interval, "tokens between snapshots of its first cache manager, mode all"},
    {&group_key::avg_seq_len, "length of the requests by which memory is shared between blocks and states; default: "
                              "half the longest max_model_len"}};

constexpr std::string_view taken_by_tensorrt_llm[] = {"block_size_tokens", "num_blocks", "state_memory_ratio",
                                                      "max_running_requests"};

constexpr KeyWords meanings_to_tensorrt_llm[] = {
    {"block_size_tokens", "tokens_per_block, default 32"},
    {"state_memory_ratio", "by pool_ratio, default by avg_seq_len"},
    {"max_running_requests", "max_batch_size, default by the pools"}};

constexpr KeyWords instead_in_tensorrt_llm[] = {
    {"attention_pack_size", "each layer has pages of its own: 1"},
    {"page_alignment_bytes", "its pages are not aligned"},
    {"kv_dtype", "K and V have an element type here"},
    {"physical_order", "take nhd or hnd"}};

constexpr std::string_view of_tensorrt_llm[] = {
    "memory is divided into whole grains; the engine takes one grain more where a part of one is left",
    "shares of the memory are made for as many requests as max_batch_size says (engine.max_running_requests), or as "
    "the engine takes where it is not set; it does not start with fewer states than that, so set it to no more than "
    "the requests that run here",
    "in mode align one snapshot is kept of each prompt, at its end (additional_snapshot_offsets_from_end: 0); the "
    "engine keeps none unless it is told where",
    "a snapshot is found again at whole blocks; the engine can share a part of a block",
    "in mode all (mamba_state_cache_interval) snapshots of the first manager lie in a pool of their own, as those of "
    "the second do, and there is one at the end of the last whole block too",
    "one request that pads CUDA graphs holds block 0 and state 0",
    "convolution states have the model's dtype, recurrent ones mamba_ssm_cache_dtype, else the model's own, fp32 in "
    "kda layers",
};

std::string_view source_of_tensorrt_llm(RuleOf rule) {
  switch (rule) {
    case RuleOf::pool_groups: return "TensorRT-LLM kv_cache_manager_v2, read";
    case RuleOf::periodic_checkpoints: return "TensorRT-LLM CppMambaHybridCacheManager, read";
    default: return shared_source(rule, "TensorRT-LLM, read");
  }
}

}  // namespace

/// TensorRT-LLM's second cache manager, the default for hybrids, by reading it: a pool group of blocks and one of
/// states (planner/pool_groups.cc). Mode all is that of its first manager, which keeps a state every so many tokens.
const EngineRules rules_of_tensorrt_llm = {.name = "tensorrt-llm",
                                           .title = "TensorRT-LLM",
                                           .strategy = Strategy::pool_groups,
                                           .source_only = true,
                                           .assumptions = of_tensorrt_llm,
                                           .own_keys = keys_of_tensorrt_llm,
                                           .source = source_of_tensorrt_llm,
                                           .takes = taken_by_tensorrt_llm,
                                           .meanings = meanings_to_tensorrt_llm,
                                           .instead = instead_in_tensorrt_llm,
                                           .validate = validate_pool_groups,
                                           .caches_by_default = true,
                                           .counts_running_state = true,
                                           .reserves_null_block = true};

}  // namespace hybridkv
