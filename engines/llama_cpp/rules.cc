#include "engines/llama_cpp/rules.h"

#include "engines/shared_sources.h"
#include "planner/tensor_pool_rules.h"
#include "planner/tensor_pool_settings.h"

namespace hybridkv {

namespace {

constexpr OwnKey keys_of_llama_cpp[] = {
    {&row_key::ctx_checkpoints, "checkpoints of states on the host, of a sequence"},
    {&row_key::checkpoint_min_step, "older checkpoints that lie nearer to each other than so many tokens are dropped"}};

constexpr std::string_view taken_by_llama_cpp[] = {"num_blocks", "max_running_requests", "speculative_tokens"};

constexpr KeyWords meanings_to_llama_cpp[] = {{"max_running_requests", "--parallel, default 4"}};

constexpr KeyWords instead_in_llama_cpp[] = {{"attention_pack_size", "each layer has pages of its own: 1"},
                                             {"block_size_tokens", "its cells hold one token"},
                                             {"page_alignment_bytes", "its pages are not aligned"},
                                             {"kv_dtype", "K and V have an element type here"},
                                             {"physical_order", "take nhd or hnd"}};

constexpr std::string_view of_llama_cpp[] = {
    "all sequences share the cells (--kv-unified, as with an automatic --parallel), of which there are as many as the "
    "memory holds, in whole 256",
    "heads and channels are split over tensor_parallel ranks; the engine splits layers, or rows of its tensors",
    "K and V of a layer lie side by side in a cell; the engine has a tensor of each, of the same bytes",
    "mla layers keep one latent a token and no V",
    "a checkpoint holds a row of every tensor, whatever the drafter; it is made at any length of prompt",
    "prompts are not saved to the host beside the checkpoints (--cache-ram 0)",
};

std::string_view source_of_llama_cpp(RuleOf rule) {
  switch (rule) {
    case RuleOf::rows: return "llama.cpp llama_memory_recurrent, read";
    case RuleOf::cells: return "llama.cpp llama_kv_cache, read";
    case RuleOf::host_checkpoints:
    case RuleOf::prefixes: return "llama.cpp server, read";
    default: return shared_source(rule, "llama.cpp, read");
  }
}

}  // namespace

/// llama.cpp and its server, by reading them: cells for all sequences and rows of states by sequence
/// (planner/sequence_rows.cc); checkpoints lie on the host.
const EngineRules rules_of_llama_cpp = {.name = "llama.cpp",
                                        .title = "llama.cpp",
                                        .strategy = Strategy::sequence_rows,
                                        .source_only = true,
                                        .assumptions = of_llama_cpp,
                                        .own_keys = keys_of_llama_cpp,
                                        .source = source_of_llama_cpp,
                                        .takes = taken_by_llama_cpp,
                                        .meanings = meanings_to_llama_cpp,
                                        .instead = instead_in_llama_cpp,
                                        .validate = validate_sequence_rows,
                                        .has_mode_all = false,
                                        .caches_by_default = true,
                                        .reserves_null_block = true};

}  // namespace hybridkv
