#include "engines/sglang/rules.h"

#include "engines/shared_sources.h"
#include "planner/tree_settings.h"
#include "planner/tree_split.h"

namespace hybridkv {

namespace {

/// Published hybrids that the engine has no model class for.
constexpr UnservedModels unserved_by_sglang[] = {{"MiniMax-Text", "MiniMaxText01ForCausalLM"},
                                                 {"Jamba", "JambaForCausalLM"},
                                                 {"plamo-2", "Plamo2ForCausalLM"},
                                                 {"Zamba2", "Zamba2ForCausalLM"}};

constexpr OwnKey keys_of_sglang[] = {
    {&tree_key::mamba_radix_cache_strategy,
     "which states are kept beside the running one; auto is extra_buffer where the engine can have it"},
    {&tree_key::overlap_schedule, "the next step is prepared while one runs"},
    {&tree_key::skip_decode_lock, "the tree's state is not locked while its request decodes "
                                  "(SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK)"},
    {&tree_key::unified_memory, "one elastic buffer for tokens and states; its rules are read"},
    {&tree_key::linear_replayssm_spec,
     "with draft tokens the inputs of gdn and kda layers are kept instead of a state for each"},
    {&tree_key::page_size, "tokens of a page"},
    {&tree_key::mamba_track_interval, "tokens between states that are kept while decoding"},
    {&tree_key::max_mamba_cache_size,
     "state slots over all attention ranks; default: by state_memory_ratio"},
    {&tree_key::max_total_tokens, "at most so many token slots; default: what the memory holds"},
    {&tree_key::attention_data_parallel, "attention ranks that share requests, each with pools of its own; "
                                         "tensor_parallel counts the ranks that share heads"},
    {&tree_key::enable_hierarchical_cache,
     "HiCache: what is evicted stays findable on the host; its rules are read, not run"},
    {&tree_key::hicache_ratio, "slots on the host over those of the device, one number above 1; default 2.0"},
    {&tree_key::hicache_size, "10^9 bytes on the host of each of both pools of a rank; default: by hicache_ratio"},
    {&tree_key::hicache_write_policy, "when K, V and states are copied to the host"}};

constexpr std::string_view taken_by_sglang[] = {"state_memory_ratio", "max_running_requests", "speculative_tokens",
                                                "mtp_layers", "physical_order", "backend_form"};

constexpr KeyWords meanings_to_sglang[] = {
    {"state_memory_ratio", "--mamba-full-memory-ratio"},
    {"max_running_requests", "over all attention ranks, speculation needs it, default by the pools"}};

constexpr KeyWords instead_in_sglang[] = {
    {"attention_pack_size", "each layer has tensors of its own: 1"},
    {"block_size_tokens", "take engine.page_size"},
    {"mamba_block_size_tokens", "its grid follows from the scan, the page and engine.mamba_track_interval"},
    {"kernel_alignment_tokens", "take engine.page_size"},
    {"kernel_block_sizes", "take engine.page_size"},
    {"page_alignment_bytes", "its slots are not aligned"},
    {"concurrent_batches", "take engine.overlap_schedule"},
    {"state_requests", "take engine.max_mamba_cache_size"},
    {"num_blocks", "take engine.max_mamba_cache_size and engine.max_total_tokens"},
    {"kv_dtype", "K and V have an element type"},
    {"draft", "a draft costs as much a layer as the model's own attention; take engine.mtp_layers"},
    {"token_rule", "it prints token slots"}};

std::string_view source_of_sglang(RuleOf rule) {
  return rule == RuleOf::split_source_only ? "SGLang 0.5.23, read" : shared_source(rule, "SGLang 0.5.23, run");
}

}  // namespace

/// SGLang 0.5.23, by running its own classes: a pool of tokens and one of state slots, split by a ratio
/// (planner/token_state_split.h), under one radix tree, which keeps prefixes by default; id 0 of both is a dummy.
const EngineRules rules_of_sglang_0_5_23 = {.name = "sglang-0.5.23",
                                            .title = "SGLang 0.5.23",
                                            .strategy = Strategy::dual_pool,
                                            .unserved = unserved_by_sglang,
                                            .own_keys = keys_of_sglang,
                                            .source = source_of_sglang,
                                            .takes = taken_by_sglang,
                                            .meanings = meanings_to_sglang,
                                            .instead = instead_in_sglang,
                                            .validate = validate_tree_engine,
                                            .has_mode_all = false,
                                            .caches_by_default = true,
                                            .tree_pools = true,
                                            .reserves_null_block = true,
                                            .without_encoders = "keeps K and V of an encoder in slots of all layers, "
                                                                "before those of the tokens, which is not planned"};

}  // namespace hybridkv
