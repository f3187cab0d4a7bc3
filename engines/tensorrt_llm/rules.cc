#include "engines/tensorrt_llm/rules.h"

#include "engines/shared_sources.h"
#include "planner/group_engine.h"
#include "planner/group_settings.h"

namespace hybridkv {

namespace {

/// Published hybrids that the engine has no class for.
constexpr UnservedModels unserved_by_tensorrt_llm[] = {{"Falcon-H1", "FalconH1ForCausalLM"},
                                                       {"granite-4.0", "GraniteMoeHybridForCausalLM"},
                                                       {"Bamba", "BambaForCausalLM"},
                                                       {"Jamba", "JambaForCausalLM"},
                                                       {"LFM2", "Lfm2ForCausalLM"},
                                                       {"MiniMax-Text", "MiniMaxText01ForCausalLM"},
                                                       {"Olmo-Hybrid", "OlmoHybridForCausalLM"},
                                                       {"plamo-2", "Plamo2ForCausalLM"},
                                                       {"Zamba2", "Zamba2ForCausalLM"}};

constexpr OwnKey keys_of_tensorrt_llm[] = {
    {&group_key::max_batch_size, "requests at once; states of so many, and one more, always have a slot"},
    {&group_key::tokens_per_block, "tokens of a block, a power of two"},
    {&group_key::avg_seq_len, "length of the requests by which memory is shared between blocks and states; default: "
                              "half the longest max_model_len"},
    {&group_key::pool_ratio, "weights of the groups of layers, in the order in which they first occur, sum 1; default: "
                             "by avg_seq_len"},
    {&group_key::periodic_snapshot_interval, "tokens between snapshots of a prompt, 0: none"},
    {&group_key::mamba_state_cache_interval, "older name of periodic_snapshot_interval"},
    {&group_key::offsets_from_start, "tokens after the start of a prompt at which snapshots are taken; default: none"},
    {&group_key::offsets_from_end, "tokens before the end of a prompt at which snapshots are taken, 0: at its end; "
                                   "default: none"},
    {&group_key::enable_branch_snapshot, "a snapshot where a prompt leaves what earlier ones have in common with it"},
    {&group_key::enable_partial_reuse, "a part of a block is found again too"},
    {&group_key::prunes_stale_leaves, "an evicted state of a leaf takes its K and V along, as before PR 17323"},
    {&group_key::host_cache_size, "bytes of the host on each rank, to which what is evicted moves; default: none"},
    {&group_key::use_kv_cache_manager_v2, "the second manager, else the first, whose replay is not known here"}};

constexpr std::string_view taken_by_tensorrt_llm[] = {"block_size_tokens", "num_blocks", "state_memory_ratio",
                                                      "max_running_requests"};

constexpr KeyWords meanings_to_tensorrt_llm[] = {
    {"block_size_tokens", "tokens_per_block, default 32"},
    {"state_memory_ratio", "by pool_ratio, default by avg_seq_len"},
    {"max_running_requests", "max_batch_size, default 2048"}};

constexpr KeyWords instead_in_tensorrt_llm[] = {
    {"attention_pack_size", "each layer has pages of its own: 1"},
    {"page_alignment_bytes", "its pages are not aligned"},
    {"kv_dtype", "K and V have an element type here"},
    {"physical_order", "take nhd or hnd"}};

std::string_view source_of_tensorrt_llm(RuleOf rule) {
  switch (rule) {
    case RuleOf::pool_groups: return "TensorRT-LLM kv_cache_manager_v2, run";
    case RuleOf::split_source_only: return "TensorRT-LLM kv_cache_manager_v2, read";
    case RuleOf::periodic_checkpoints: return "TensorRT-LLM CppMambaHybridCacheManager, sizes run";
    default: return shared_source(rule, "TensorRT-LLM, run");
  }
}

}  // namespace

/// TensorRT-LLM's main branch of September 2026, by running its own text: the second cache manager, the default for
/// hybrids, with a pool group of blocks and one of states (planner/group_split.h); on demand the sizes of the first.
const EngineRules rules_of_tensorrt_llm = {.name = "tensorrt-llm",
                                           .title = "TensorRT-LLM",
                                           .strategy = Strategy::pool_groups,
                                           .unserved = unserved_by_tensorrt_llm,
                                           .own_keys = keys_of_tensorrt_llm,
                                           .source = source_of_tensorrt_llm,
                                           .takes = taken_by_tensorrt_llm,
                                           .meanings = meanings_to_tensorrt_llm,
                                           .instead = instead_in_tensorrt_llm,
                                           .validate = validate_pool_groups,
                                           .has_mode_all = false,
                                           .caches_by_default = true};

}  // namespace hybridkv
