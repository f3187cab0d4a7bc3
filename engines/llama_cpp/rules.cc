#include "engines/llama_cpp/rules.h"

#include "engines/shared_sources.h"
#include "planner/tensor_pool_rules.h"
#include "planner/row_settings.h"

namespace hybridkv {

namespace {

constexpr OwnKey keys_of_llama_cpp[] = {
    {&row_key::ctx_checkpoints, "checkpoints of states on the host, of a sequence (--ctx-checkpoints)"},
    {&row_key::checkpoint_min_step, "once a sequence has as many, older ones that lie nearer to each other than so "
                                    "many tokens are dropped (--checkpoint-min-step)"},
    {&row_key::ctx_size, "cells of all sequences, in whole 256 (--ctx-size); default: as many as the memory holds"},
    {&row_key::kv_unified, "all sequences share the cells (--kv-unified); default: where max_running_requests is not "
                           "set"},
    {&row_key::batch_size, "tokens of a step (--batch-size)"},
    {&row_key::ubatch_size, "tokens of a pass over the layers (--ubatch-size)"},
    {&row_key::cache_ram, "MiB of the host for prompts that are saved when a slot takes another one (--cache-ram); 0: "
                          "none, -1: as many tokens as cells"},
    {&row_key::cache_idle_slots, "what idle slots hold is saved too, and cleared where cells are shared "
                                 "(--cache-idle-slots)"},
    {&row_key::slot_prompt_similarity_percent, "a slot is taken for its content where it holds more of the prompt "
                                               "(--slot-prompt-similarity, in percent); 0: never"},
    {&row_key::swa_full, "layers with a window keep every token (--swa-full)"},
    {&row_key::cache_type_k, "type of K in the cells (--cache-type-k); default: that of engine.kv_dtype, else f16"},
    {&row_key::cache_type_v, "type of V (--cache-type-v), the same"},
    {&row_key::flash_attn, "--flash-attn; V in blocks (q8_0 and below) needs it"},
    {&row_key::spec_type, "who drafts (--spec-type): rows for rejected drafts are kept for mtp, eagle3, dflash and "
                          "dspark"}};

constexpr std::string_view taken_by_llama_cpp[] = {"num_blocks", "max_running_requests", "speculative_tokens",
                                                   "mtp_layers"};

constexpr std::string_view without_rows_for_drafts[] = {"Qwen3-Next", "granite", "Falcon-H1", "Jamba", "Kimi-Linear",
                                                        "plamo", "MiniMax-01", "MiniMax-Text-01"};

constexpr std::string_view many_positions[] = {"Qwen3.5", "Qwen3.6", "Qwen3.8"};

constexpr std::string_view ends_where_split[] = {"Kimi-Linear"};

constexpr KeyWords meanings_to_llama_cpp[] = {
    {"max_running_requests", "--parallel, default 4; set, each slot has cells of its own unless kv_unified says "
                             "otherwise"}};

constexpr KeyWords instead_in_llama_cpp[] = {{"attention_pack_size", "each layer has pages of its own: 1"},
                                             {"block_size_tokens", "its cells hold one token"},
                                             {"page_alignment_bytes", "its pages are not aligned"},
                                             {"kv_dtype", "K and V have an element type here"},
                                             {"physical_order", "take nhd or hnd"}};

constexpr std::string_view of_llama_cpp[] = {
    "heads and channels are split over tensor_parallel ranks; the engine splits layers, or rows of its tensors",
    "K and V of a layer lie side by side in a cell; the engine has a tensor of each, of the same bytes",
    "the model was trained for contexts as long as a slot's",
    "a drafter's cells are of the types of the model's own (--cache-type-k-draft, --cache-type-v-draft)",
};

std::string_view source_of_llama_cpp(RuleOf rule) {
  switch (rule) {
    case RuleOf::rows: return "llama.cpp b11312 llama_memory_recurrent, run";
    case RuleOf::cells: return "llama.cpp b11312 llama_kv_cache, run";
    case RuleOf::host_checkpoints:
    case RuleOf::prefixes: return "llama.cpp b11312 server, run";
    default: return shared_source(rule, "llama.cpp b11312, run");
  }
}

}  // namespace

/// llama.cpp and its server b11312, by running them: cells and rows of states by sequence (planner/sequence_rows.cc);
/// checkpoints and saved prompts lie on the host.
const EngineRules rules_of_llama_cpp = {.name = "llama.cpp",
                                        .title = "llama.cpp",
                                        .strategy = Strategy::sequence_rows,
                                        .assumptions = of_llama_cpp,
                                        .without_rows_for_drafts = without_rows_for_drafts,
                                        .many_positions = many_positions,
                                        .ends_where_split = ends_where_split,
                                        .own_keys = keys_of_llama_cpp,
                                        .source = source_of_llama_cpp,
                                        .takes = taken_by_llama_cpp,
                                        .meanings = meanings_to_llama_cpp,
                                        .instead = instead_in_llama_cpp,
                                        .validate = validate_sequence_rows,
                                        .has_mode_all = false,
                                        .caches_by_default = true,
                                        .reserves_null_block = true,
                                        .without_encoders = "keeps what an encoder puts out, and computes its K and V "
                                                            "anew in each pass, which is not planned"};

}  // namespace hybridkv
