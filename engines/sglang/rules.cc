#include "engines/sglang/rules.h"

#include "engines/shared_sources.h"
#include "planner/radix_split.h"

namespace hybridkv {

namespace {

/// Published hybrids that the engine has no model class for.
constexpr UnservedModels unserved_by_sglang[] = {{"MiniMax-Text", "MiniMaxText01ForCausalLM"},
                                                 {"Jamba", "JambaForCausalLM"},
                                                 {"plamo-2", "Plamo2ForCausalLM"},
                                                 {"Zamba2", "Zamba2ForCausalLM"}};

constexpr std::string_view keys_of_sglang[] = {
    "engine.mamba_radix_cache_strategy", "engine.overlap_schedule",     "engine.skip_decode_lock",
    "engine.page_size",                  "engine.mamba_track_interval", "engine.max_mamba_cache_size",
    "engine.max_running_requests",       "engine.max_total_tokens",     "engine.attention_data_parallel",
    "engine.unified_memory",             "engine.linear_replayssm_spec"};

std::string_view source_of_sglang(RuleOf rule) {
  return rule == RuleOf::split_read ? "SGLang 0.5.23, read" : shared_source(rule, "SGLang 0.5.23, run");
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
                                            .validate = validate_radix_engine,
                                            .has_mode_all = false,
                                            .caches_by_default = true,
                                            .radix_pools = true,
                                            .reserves_null_block = true};

}  // namespace hybridkv
